package static

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/internal/retry"
)

// PublicationOptions are the optional arguments of [NewPublication].
type PublicationOptions struct {
	// Gzip, Grace, DumpEvery and Logger are as in [WriteTo].
	Options

	// Every is the minimum time between the beginnings of two updates of the Change Lists. After
	// an update that takes more than half of it, a rest of up to Every follows. If zero, 2 seconds
	// is used.
	Every time.Duration

	// ListEvery is the minimum time between two updates of the Resource Lists, the Change Dumps
	// and the archives. Until then, Destinations that begin with a Resource List continue with
	// the Change List, which reaches back to its at. If zero, 1 hour is used. A DumpEvery that
	// is less counts as ListEvery.
	ListEvery time.Duration
}

// A Publication keeps the files of a Source up to date while its sets change. It writes the Change
// Lists some seconds after a change, and the large lists and dumps now and then, while the Change Lists
// go on. A change costs the rendering of the open Change List; nothing else is read.
//
// Of several Publications to the same place, in different processes, the one that has the lock
// writes. The others stand by, and one of them continues when it ends. A Publication that was killed
// leaves no link without a file; the next one completes the files, and removes the others.
//
// A set that fails does not keep the others from being written. The Source Description names a set as
// soon as its documents have been written.
type Publication struct {
	out     Store
	src     *Source
	options PublicationOptions
	log     *slog.Logger
	wake    chan struct{}

	failures health.Failures

	mu     sync.Mutex
	status PublicationStatus
	begun  int           // passes
	done   int           // the number of the last pass that succeeded
	passed chan struct{} // closed after each pass
}

// A PublicationStatus describes the work of a [Publication].
type PublicationStatus struct {
	Publishing bool      `json:"publishing"`    // it has the lock
	Documents  int       `json:"documents"`     // that it knows to be up to date, with packages
	Written    uint64    `json:"written"`       // files since the start
	Bytes      uint64    `json:"bytes"`         // of the written files
	Removed    uint64    `json:"removed"`       // files since the start
	Last       time.Time `json:"last,omitzero"` // beginning of the last update that succeeded
	LastError  string    `json:"last_error,omitempty"`
}

// NewPublication returns a Publication of src in the place out. It does nothing until Run is called.
// No other goroutine may use src and out. opts may be nil.
func NewPublication(out Store, src *Source, opts *PublicationOptions) *Publication {
	p := &Publication{out: out, src: src, wake: make(chan struct{}, 1), passed: make(chan struct{})}
	if opts != nil {
		p.options = *opts
	}
	o := &p.options
	o.Every, o.ListEvery = cmp.Or(o.Every, 2*time.Second), cmp.Or(o.ListEvery, time.Hour)
	o.Options = o.Options.withDefaults()
	o.ListEvery = max(o.ListEvery, o.Every)
	o.DumpEvery = max(o.DumpEvery, o.ListEvery)
	p.log = o.Logger
	return p
}

const (
	// pollEvery is the time after which sets are checked even if no Watcher reports a change.
	pollEvery = time.Minute

	// failedEvery is the time after which a set that has failed is read again.
	failedEvery = 5 * time.Second
)

// work is the name of the task in logs.
const work = "publication"

// Run keeps the files up to date until ctx ends, and then returns nil. It retries what fails, and
// reports failures to the Logger and in Health.
func (p *Publication) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, st := range p.src.site.Order {
		for _, w := range []resourcesync.Watcher{st.ChangeWatcher, st.Watcher} {
			if w != nil {
				watching.Go(func() {
					background.Watch(ctx, w.Watch, func() { background.Signal(p.wake) }, p.log.With("set", st.Name), "watching a set has ended; restarting")
				})
				break
			}
		}
	}
	standing := false
	for failures := 0; ; {
		began := time.Now()
		err := background.Safely(func() error { return p.hold(ctx, &standing) })
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, ctx.Err()) {
				p.log.Warn("publication not ended properly; the next one repairs what is missing", "error", err)
			}
			return nil
		}
		var rest time.Duration
		switch {
		case err == nil: // the session has ended with a rest
			failures = 0
		case errors.Is(err, errListDue):
			failures, rest = 0, p.options.Every
		case errors.Is(err, ErrLocked):
			failures, rest = 0, p.options.Every
			if !standing {
				p.log.Info("another process publishes the documents; standing by", "cause", err)
			}
			standing = true
			p.note(ctx, nil)
		default:
			if time.Since(began) > retries.Max {
				failures = 0
			}
			failures++
			rest = retries.Wait(failures, 0)
			p.note(ctx, err)
		}
		if background.Sleep(ctx, rest) != nil {
			return nil
		}
	}
}

var retries = retry.Policy{First: time.Second, Max: time.Minute}

// hold takes the lock, and keeps the files up to date until a list is due, ctx ends or the lock is lost.
func (p *Publication) hold(ctx context.Context, standing *bool) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := newWriter(p.out, p.src, p.options.Options)
	w.session = newSession(p.options.Every, p.options.ListEvery, cancel)
	if err := w.lock(ctx); err != nil {
		return err
	}
	if *standing {
		p.log.Info("this process publishes the documents now")
		*standing = false
	}
	p.setPublishing(true)
	defer func() {
		p.setPublishing(false)
		listDue := errors.Is(err, errListDue)
		if listDue {
			err = nil
		}
		if err = w.saveAndUnlock(ctx, err); err == nil && listDue {
			err = errListDue
		}
	}()
	for {
		p.begin()
		err := w.session.pass(ctx, w)
		p.end(w, err)
		if err != nil && !w.session.survives(ctx, err) {
			return err
		}
		p.note(ctx, err)
		if err := p.await(ctx, w, err != nil); err != nil {
			return err
		}
		if !time.Now().Before(w.session.due(w)) {
			return nil
		}
	}
}

// await waits for the next pass: for a change, but not longer than until a list is due.
func (p *Publication) await(ctx context.Context, w *writer, failed bool) error {
	if err := background.Sleep(ctx, time.Until(w.session.next)); err != nil {
		return err
	}
	most := pollEvery
	if failed {
		most = min(most, failedEvery)
	}
	most = min(most, time.Until(w.session.due(w)))
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-p.wake:
	case <-timer.C:
	}
	return ctx.Err()
}

// begin counts a pass that begins.
func (p *Publication) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
}

// end notes the result of the pass that has begun last.
func (p *Publication) end(w *writer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.status
	s.Written += uint64(len(w.report.Written))
	s.Removed += uint64(len(w.report.Removed))
	s.Bytes += uint64(w.report.Bytes)
	if s.Documents = len(w.known.Files) - w.report.Unlisted; err == nil {
		s.Last, p.done = w.now, p.begun
	}
	close(p.passed)
	p.passed = make(chan struct{})
}

// note reports the error of a pass, or nil. A set that is not ready is not a failure.
func (p *Publication) note(ctx context.Context, err error) {
	if sets, ok := errors.AsType[setErrors](err); ok {
		err = sets.ready().err()
	}
	p.failures.Log(ctx, p.log, work, err, "documents cannot be published; retrying", "documents are published again")
}

func (p *Publication) setPublishing(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Publishing = is
}

// Await waits until the files show all changes that were made before the call. It waits as long as
// another process publishes, or ctx ends.
func (p *Publication) Await(ctx context.Context) error {
	p.mu.Lock()
	want := p.begun + 1
	p.mu.Unlock()
	background.Signal(p.wake)
	for {
		p.mu.Lock()
		done, passed := p.done, p.passed
		p.mu.Unlock()
		if done >= want {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-passed:
		}
	}
}

// Status returns the status of p. It is safe for concurrent use.
func (p *Publication) Status() PublicationStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	if err := p.failures.Of(work); err != nil {
		s.LastError = err.Error()
	}
	return s
}

// Health returns why the files are not up to date, or nil if they are, or another process keeps them.
// It is safe for concurrent use.
func (p *Publication) Health(context.Context) error {
	if err := p.failures.Of(work); err != nil {
		return fmt.Errorf("the documents cannot be published: %w", err)
	}
	return nil
}
