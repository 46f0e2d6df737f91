package dir

import (
	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/health"
)

// consume yields the findings of the scan. It returns false if yield does.
func (s *scanRun) consume(yield func(resourcesync.Resource, error) bool) bool {
	for f := range s.found {
		if f.unreadable != nil {
			if !yield(resourcesync.Resource{}, f.unreadable) {
				return false
			}
			continue
		}
		for _, key := range f.unchanged {
			s.yielded.Add(1)
			if !yield(resourcesync.Resource{Key: key}, resourcesync.ErrUnchanged) {
				return false
			}
		}
		for i := range f.resources {
			s.yielded.Add(1)
			if !yield(f.resources[i], nil) {
				return false
			}
		}
	}
	if s.ended != nil {
		s.ended()
	}
	return true
}

// summarize ends the rounds of a complete scan. It logs the number of skipped files if
// the lines for single files do not show it.
func (s *scanRun) summarize(skips, fails *health.Round) {
	fails.End()
	switch n, news := skips.End(); {
	case news && n > 0:
		s.log.Warn("dir: total of skipped files", "files", n)
	case news:
		s.log.Info("dir: files are no longer skipped")
	}
}
