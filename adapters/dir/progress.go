package dir

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// progressEvery is how often Options.Progress is called.
const progressEvery = 250 * time.Millisecond

// Progress is how far a scan has come.
type Progress struct {
	Files   int64 // resources yielded
	Skipped int64 // files and folders that cannot be read, change all the time, or have too long a name
	Bytes   int64 // bytes read; a file that has not changed is not
}

// consume yields what the scan finds and tells how far it has come, also while
// a large file is read and nothing is found. It returns false if yield does.
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
				s.tell()
				s.summarize()
				return true
			}
			if f.unreadable != nil {
				if !yield(resourcesync.Resource{}, f.unreadable) {
					return false
				}
				continue
			}
			s.listed++
			if !yield(f.resource, nil) {
				return false
			}
		case <-tick:
			s.tell()
		}
	}
}

func (s *scan) tell() {
	if s.progress != nil {
		s.progress(Progress{Files: s.listed, Skipped: s.skipped.Load(), Bytes: s.bytes.Load()})
	}
}

// summarize logs how much was skipped, if the lines for single files do not show it.
func (s *scan) summarize() {
	s.fails.End()
	if n, news := s.skips.End(); news {
		s.log.Warn("dir: skipped in all", "files", n)
	}
}
