package scan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

// maxParts is the maximum number of unreadable parts of a listing that are kept.
const maxParts = 100

// parts are the first parts that the last listing could not read.
type parts []*resourcesync.UnreadableError

// collect returns a listing that collects its unreadable parts in p.
func (p *parts) collect(resources listing) listing {
	return func(yield func(resourcesync.Resource, error) bool) {
		*p = nil
		resources(func(r resourcesync.Resource, err error) bool {
			if part, ok := errors.AsType[*resourcesync.UnreadableError](err); ok && len(*p) < maxParts {
				*p = append(*p, part)
			}
			return yield(r, err)
		})
	}
}

// An unreadable records where resources stay listed because they cannot be read, and since when.
type unreadable struct {
	since time.Time // of the first scan of this process that could not read some
	place error     // of one part; nil if none is known
}

// noteUnreadable notes what the scan that ends could not read. A part without resources, which
// has never been read, is not named.
func (s *Set) noteUnreadable(ctx context.Context, result resourcesync.ScanResult) {
	if result.Unreadable == 0 {
		s.unreadable.Store(nil)
		return
	}
	now := &unreadable{since: time.Now()}
	if before := s.unreadable.Load(); before != nil {
		now.since = before.since
	}
	for _, part := range s.parts {
		if st, err := s.stored.Stat(ctx, part.Keys); err == nil && st.Count > 0 {
			now.place = part.Err
			break
		}
	}
	s.unreadable.Store(now)
}

// unreadableErr returns an error that wraps [ErrUnreadable] if resources could not be read, or nil.
// at may be nil.
func (k Kept) unreadableErr(at *unreadable) error {
	if k.Unreadable == 0 {
		return nil
	}
	text := humanize.Comma(k.Unreadable) + " resources stay listed as they were"
	if at != nil {
		text += ", at least since " + timetext.Of(at.since)
	}
	text += "; the log names each place and its error"
	if at != nil && at.place != nil {
		text += ", such as " + at.place.Error()
	}
	return fmt.Errorf("%w: %s", ErrUnreadable, text)
}
