package destination

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

func (r *run) readChangeDumps(ctx context.Context, set tree.Set, st *state.Set) (noted int64, gap bool, err error) {
	c := r.newChangeReader(set, st)
	if err := r.state.ClearStaged(); err != nil {
		return 0, false, err
	}
	s := &dumpStart{changeReader: c}
	dumps := dumpReader{run: r, begin: s.document, each: func(e packageEntry) error { return c.dump(ctx, e) }, fresh: func(e packageEntry) (bool, error) {
		known, err := r.state.Reading(set.URI, cmp.Or(e.manifest, e.uri))
		return known == nil, err
	}}
	var failed error
	for _, uri := range set.Lists[resourcesync.ChangeDump] {
		if err = c.begin(uri); err != nil {
			break
		}
		dumps.since = c.cutoff
		var unread error
		unread, err = dumps.read(ctx, []string{uri})
		s.decide()
		if failed = errors.Join(failed, unread); err != nil || c.gap {
			break
		}
	}
	return c.end(ctx, failed, err)
}

// A dumpStart finds out whether the changes of a Change Dump begin after the cursor.
type dumpStart struct {
	*changeReader
	from  time.Time     // of the dump, if it can be later than it says
	doubt bool          // from is to be judged
	unit  time.Duration // in which from and the times of the packages so far seem to be written
}

// document reads the time at which the changes of a dump or of an index of dumps begin. It reports
// whether its packages are to be read.
func (s *dumpStart) document(p *page) (bool, error) {
	if p.top {
		known, err := s.state.Reading(s.set.URI, p.uri)
		if err != nil {
			return false, err
		}
		reading := &state.Reading{Set: s.set.URI, URI: p.uri, Date: fetch.Date(p.Header), Whole: true}
		for _, uri := range p.listed {
			addPart(reading, known, uri)
		}
		s.read(reading)
		s.gap = s.begins(p, p.from)
		s.from, s.unit = p.from, state.Precision(p.from)
		// The dump goes back to the cursor if it still has all its former packages. After a
		// comparison, the Resource Lists show the earlier state.
		if known != nil {
			s.doubt = s.st.Known && known.Lost()
		} else {
			s.doubt = s.st.Known && !s.run.compared[s.set.URI]
		}
	}
	s.unit = min(s.unit, p.unit)
	if len(p.packages) > 0 {
		s.decide()
	}
	return !s.gap, nil
}

// decide judges the beginning of the dump with the times that have been read. Midnight is a whole day only if all of them
// are days.
func (s *dumpStart) decide() {
	s.gap = s.gap || s.doubt && s.from.Add(s.unit).After(s.st.Cursor)
	s.doubt = false
}
