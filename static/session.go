package static

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// A session is what a Publication knows while it has the lock.
type session struct {
	every     time.Duration
	listEvery time.Duration
	whole     bool                               // all documents have been put
	walked    map[string]bool                    // sets all of whose documents have been put
	windows   map[string][]resourcesync.Interval // whose Change Lists have been put
	recent    map[string]time.Time               // when the list of recent changes was last put
	told      time.Time                          // when the progress was last logged
	kept      time.Time                          // when keepUp last ended
}

func newSession(every, listEvery time.Duration) *session {
	return &session{
		every: every, listEvery: listEvery, walked: make(map[string]bool),
		windows: make(map[string][]resourcesync.Interval), recent: make(map[string]time.Time),
	}
}

// tellEvery is the interval at which the progress of a long pass is logged.
const tellEvery = 10 * time.Second

// tell logs the progress of a pass.
func (s *session) tell(w *writer) {
	if now := time.Now(); now.Sub(s.told) >= tellEvery {
		w.options.Logger.Info("documents are being published", "documents", len(w.live), "written", len(w.report.Written))
		s.told = now
	}
}

// errListDue ends a session: the Change List no longer has all changes after the Resource List, which
// must be brought up to date first.
var errListDue = errors.New("the Change List begins after the Resource List")

// survives reports whether a session continues after the error of a set.
func (*session) survives(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	for _, end := range []error{ErrLocked, ErrLockLost, ErrChanged, errListDue} {
		if errors.Is(err, end) {
			return false
		}
	}
	return true
}

// keepUp puts the Change Lists of all sets, between the pages of a Resource List: a large one can take
// minutes. A set that has no Resource List yet has no Change List either. What fails here is found
// when it is the set's turn.
func (s *session) keepUp(ctx context.Context, w *writer) error {
	if time.Since(s.kept) < s.every {
		return nil
	}
	for _, st := range w.src.site.Order {
		if _, found := w.known.Lists[st.Name]; !found || st.Changer == nil || st.Ready(ctx) != nil {
			continue
		}
		v := walk{w, ctx, st}
		if err := v.changes(); err != nil && !errors.Is(err, errListDue) && !s.survives(ctx, err) {
			return err
		}
	}
	s.kept = time.Now()
	return nil
}

// hasPut reports whether a closed Change List has been put, which then never changes.
func (s *session) hasPut(st *document.Set, iv resourcesync.Interval) bool {
	before := s.windows[st.Name]
	i, found := partition.Find(before, iv.From)
	return found && !iv.Open() && before[i].Until.Equal(iv.Until)
}

// recentEvery is the minimum time between two versions of the list of recent changes. It has up to
// 49,000 changes, and is for Destinations that read no index.
const recentEvery = time.Minute

func (s *session) recentIsDue(st *document.Set, now time.Time) bool {
	return now.Sub(s.recent[st.Name]) >= recentEvery
}

// notedRecent records that the list of recent changes was put. s may be nil.
func (s *session) notedRecent(st *document.Set, now time.Time) {
	if s != nil {
		s.recent[st.Name] = now
	}
}

// begin prepares w for the next pass of a session.
func (s *session) begin(w *writer) {
	w.now, w.report = time.Now(), Report{}
	s.told = w.now
	if s.whole {
		w.live = make(map[string]bool)
		return
	}
	for name, f := range w.known.Files {
		if !s.walked[f.Set] { // a set that has failed is walked again, in another state
			delete(w.live, name)
		}
	}
}

// pass brings the documents up to date: all of them until that has succeeded once, then the Change
// Lists.
func (s *session) pass(ctx context.Context, w *writer) error {
	s.begin(w)
	if s.whole {
		return w.walk(ctx)
	}
	err := w.write(ctx)
	s.whole = err == nil
	return err
}

// due returns when the first list or dump is due: when the session ends.
func (s *session) due(w *writer) time.Time {
	due := w.now.Add(s.listEvery)
	for name := range s.walked { // a set that fails ends no session
		due = earlier(due, w.known.Lists[name].Noted.Add(s.listEvery))
		if noted, found := w.known.Dumps[name]; found && w.src.site.Sets[name].Opener != nil {
			due = earlier(due, noted.Add(w.options.DumpEvery))
		}
	}
	return due
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
