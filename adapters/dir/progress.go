package dir

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/health"
)

// progressEvery is the interval between calls of Options.Progress.
const progressEvery = 250 * time.Millisecond

// Progress is the progress of a scan.
type Progress struct {
	Files   int64 // resources yielded
	Skipped int64 // files and folders that cannot be read, keep changing, or have a name that is too long; and symbolic links
	Bytes   int64 // bytes read; unchanged files are not read
}

// consume yields the findings of the scan and reports its progress, even while it
// reads a large file. It returns false if yield does.
func (s *scan) consume(yield func(resourcesync.Resource, error) bool) bool {
	var tick <-chan time.Time
	if s.progress != nil {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case f, ok := <-s.found:
			if !ok {
				s.reportProgress()
				if s.ended != nil {
					s.ended()
				}
				return true
			}
			if f.unreadable != nil {
				if !yield(resourcesync.Resource{}, f.unreadable) {
					return false
				}
				continue
			}
			for _, key := range f.unchanged {
				s.yielded++
				if !yield(resourcesync.Resource{Key: key}, resourcesync.ErrUnchanged) {
					return false
				}
			}
			for i := range f.resources {
				s.yielded++
				if !yield(f.resources[i], nil) {
					return false
				}
			}
		case <-tick:
			s.reportProgress()
		}
	}
}

func (s *scan) reportProgress() {
	if s.progress != nil {
		s.progress(Progress{Files: s.yielded, Skipped: s.skipped.Load(), Bytes: s.bytes.Load()})
	}
}

// summarize ends the rounds of a complete scan. It logs the number of skipped files if
// the lines for single files do not show it.
func (s *scan) summarize(skips, fails *health.Round) {
	fails.End()
	if n, news := skips.End(); news {
		s.log.Warn("dir: skipped in total", "files", n)
	}
}
