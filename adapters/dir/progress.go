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
	LeftOut int64 // files that may not be read, do not hold still, or have too long a name
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
		case r, ok := <-s.found:
			if !ok {
				s.tell()
				s.summarize()
				return true
			}
			s.listed++
			if !yield(r, nil) {
				return false
			}
		case <-tick:
			s.tell()
		}
	}
}

func (s *scan) tell() {
	if s.progress != nil {
		s.progress(Progress{Files: s.listed, LeftOut: s.leftOut.Load(), Bytes: s.bytes.Load()})
	}
}

// summarize logs how much was left out, if not every file of it was logged.
func (s *scan) summarize() {
	if n := s.leftOut.Load(); n > maxNotes {
		s.log.Warn("dir: left out in all", "files", n)
	}
}
