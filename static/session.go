package static

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// A session is the state of a Publication while it has the lock.
type session struct {
	every     time.Duration
	listEvery time.Duration
	whole     bool                               // all documents have been put
	walked    map[string]bool                    // sets all of whose documents have been put
	windows   map[string][]resourcesync.Interval // whose Change Lists have been put
	told      time.Time                          // when the progress was last logged

	next   time.Time       // when the Change Lists are due
	keeps  bool            // they are being put by keepUp
	alone  bool            // they are being put, by keepUp or by the walk of their set
	listed map[string]bool // the paths that keepUp has put in this pass
	cancel func()          // ends the work of the session
}

func newSession(every, listEvery time.Duration, cancel func()) *session {
	return &session{
		every: every, listEvery: listEvery, walked: make(map[string]bool), cancel: cancel,
		windows: make(map[string][]resourcesync.Interval), listed: make(map[string]bool),
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

// keepUp puts the Change Lists of all sets if they are due: a walk can take minutes. A set that has
// no Resource List yet has no Change List either. A failure here is found when it is the set's
// turn. s may be nil.
func (s *session) keepUp(ctx context.Context, w *writer) error {
	if s == nil || s.alone || time.Now().Before(s.next) {
		return nil
	}
	s.keeps = true
	defer func(begun time.Time) {
		s.keeps = false
		s.updated(begun)
	}(time.Now())
	return s.each(ctx, w, (*walk).changes)
}

// catchUp is keepUp between two documents of a walk. It also puts the lists of recent changes that are due.
func (s *session) catchUp(ctx context.Context, w *writer) error {
	if s == nil {
		return nil
	}
	if err := s.keepUp(ctx, w); err != nil {
		return err
	}
	return s.each(ctx, w, (*walk).recentChanges)
}

// each calls put for each set that has a Resource List. It fails only if the session ends.
func (s *session) each(ctx context.Context, w *writer, put func(*walk) error) error {
	for _, st := range w.src.site.Order {
		if _, found := w.known.Lists[st.Name]; !found || st.Changer == nil || st.Ready(ctx) != nil {
			continue
		}
		if err := put(&walk{w, ctx, st}); err != nil && !errors.Is(err, errListDue) && !s.survives(ctx, err) {
			return err
		}
	}
	return nil
}

// updated notes that an update of the Change Lists has ended. The rest after an update lasts as
// long as the update, but not more than s.every.
func (s *session) updated(begun time.Time) {
	now := time.Now()
	took := now.Sub(begun)
	s.next = now.Add(max(s.every-took, min(took, s.every)))
}

// putAlone keeps keepUp out until the returned function is called, because no two may put the same document. s
// may be nil.
func (s *session) putAlone() (done func()) {
	if s == nil {
		return func() {}
	}
	before := s.alone
	s.alone = true
	return func() { s.alone = before }
}

// during calls f, which may take long and uses neither w nor its session. In a session, f has a goroutine of its
// own, and the Change Lists are put meanwhile. f has ended when during returns.
func during[T any](ctx context.Context, w *writer, f func() (T, error)) (result T, err error) {
	s := w.session
	if s == nil || s.alone {
		return f()
	}
	done := make(chan error, 1)
	go func() {
		done <- background.Safely(func() (err error) {
			result, err = f()
			return err
		})
	}()
	for {
		timer := time.NewTimer(time.Until(s.next))
		select {
		case err := <-done:
			timer.Stop()
			return result, err
		case <-timer.C:
		}
		if err := s.keepUp(ctx, w); err != nil {
			s.cancel() // f writes nothing after the session
			<-done
			return result, err
		}
	}
}

// hasPut reports whether a closed Change List has been put, which then never changes.
func (s *session) hasPut(st *document.Set, iv resourcesync.Interval) bool {
	before := s.windows[st.Name]
	i, found := partition.Find(before, iv.From)
	return found && !iv.Open() && before[i].Until.Equal(iv.Until)
}

// begin prepares w for the next pass of a session.
func (s *session) begin(w *writer) {
	w.now, w.report = time.Now(), Report{}
	s.told = w.now
	clear(s.listed)
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
