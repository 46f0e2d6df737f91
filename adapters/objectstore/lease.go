package objectstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/static"
)

// A lease is an object that shows that a Store is writing.
type lease struct {
	store *Store
	name  string
	token string // of this lease, so that no two have the same content

	count  int       // of the contents
	digest string    // of the present content
	begun  time.Time // when it was first sent
	open   bool      // whether it has been stored is not known

	mu      sync.Mutex
	etag    string    // of the object
	renewed time.Time // before the last renewal that succeeded
	failed  error     // of the last renewal, or nil
	lost    error     // why the lease has ended, or nil

	stop, done chan struct{}
}

// polls is how often a lease is checked while it may end, and renewals how often one is renewed,
// in the time of a lease.
const (
	polls    = 10
	renewals = 3
)

// Lock implements [static.Store]. The lease is the object with the name. After a process was
// killed, Lock waits until its lease is void. Where the bucket ignores conditions, Lock takes
// Options.TryLock before the lease.
func (s *Store) Lock(ctx context.Context, name string) (err error) {
	s.conditional, s.folders = true, make(map[string]*folder)
	if s.lacks && s.options.TryLock != nil {
		if s.held, err = s.options.TryLock.hold(ctx); err != nil {
			return err
		}
	}
	l := &lease{store: s, name: name, token: rand.Text(), stop: make(chan struct{}), done: make(chan struct{})}
	if err = l.take(ctx); err == nil && s.conditional {
		if s.conditional, err = l.probe(ctx); err != nil {
			err = errors.Join(err, l.giveBack(context.WithoutCancel(ctx)))
		}
	}
	if err != nil {
		s.unlock()
		return err
	}
	lacked := s.lacks
	if s.lacks = !s.conditional; s.lacks && !lacked {
		s.warn()
		if s.options.TryLock != nil { // begin again, with the lock before the lease
			if err := l.giveBack(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			return s.Lock(ctx, name)
		}
	}
	s.lease = l
	go l.keep(context.WithoutCancel(ctx))
	return nil
}

// warn logs which writers are kept apart in a bucket that ignores conditions, and which are not.
func (s *Store) warn() {
	if s.options.TryLock == nil {
		s.options.Logger.Warn("the bucket ignores the conditions of writes; make sure that no two processes write to it at the same time")
		return
	}
	s.options.Logger.Warn("the bucket ignores the conditions of writes, so the lock is in the state, and separates only processes that use this state; make sure that no process with another state, and no other program, writes to the same place")
}

// Unlock implements [static.Store].
func (s *Store) Unlock(ctx context.Context) error {
	defer s.unlock()
	l := s.lease
	close(l.stop)
	<-l.done
	if l.check() != nil {
		return nil // all writes had the lease; another may have it now
	}
	return l.giveBack(ctx)
}

// unlock releases the lock of Options.TryLock, if it is held.
func (s *Store) unlock() {
	s.held.giveBack()
	s.held = nil
}

// check returns an error if the lease or the lock has ended.
func (s *Store) check() error {
	return cmp.Or(s.lease.check(), s.held.check())
}

// giveBack deletes the object of the lease. It may take as long as the lease is valid. Not all stores
// know the condition of a deletion, so it looks at the object first.
func (l *lease) giveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.store.options.Lease)
	defer cancel()
	o, err := l.store.client.Head(ctx, l.store.key(l.name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && o.ETag != l.etag && o.Digest != l.digest:
		return nil // another has taken it over
	case err == nil:
		err = l.store.client.Delete(ctx, l.store.key(l.name), o.ETag)
	}
	return wrap(l.name, err)
}

// take puts the object of the lease, once the present one is no longer renewed.
func (l *lease) take(ctx context.Context) error {
	was, err := l.store.client.Head(ctx, l.store.key(l.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap(l.name, err)
	}
	if was.ETag != "" {
		if !l.store.waits {
			l.store.options.Logger.Info("waiting for the lease of another process, which may have been killed", "longest", l.store.options.Lease)
		}
		l.store.waits = true
		if was, err = l.await(ctx, was); err != nil {
			return err
		}
	}
	c := Condition{IfMatch: was.ETag, IfNone: was.ETag == ""}
	if err = l.put(ctx, c); errors.Is(err, errors.ErrUnsupported) {
		l.store.conditional = false
		err = l.put(ctx, c)
	}
	switch {
	case err == nil:
		l.store.waits = false
	case errors.Is(err, ErrCondition):
		err = static.ErrLocked // another process was faster
	}
	return err
}

// await waits until the lease that was describes is void. The result is empty if it has been given
// back.
func (l *lease) await(ctx context.Context, was Object) (Object, error) {
	tick := time.NewTicker(l.store.options.Lease / polls)
	defer tick.Stop()
	for range polls {
		select {
		case <-ctx.Done():
			return was, ctx.Err()
		case <-tick.C:
		}
		now, err := l.store.client.Head(ctx, l.store.key(l.name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return Object{}, nil
		case err != nil:
			return was, wrap(l.name, err)
		case now.ETag != was.ETag:
			return was, static.ErrLocked
		}
	}
	return was, nil
}

// put stores the object of the lease. If the last put may have succeeded, this one has the same
// content, which Store.put recognizes.
func (l *lease) put(ctx context.Context, c Condition) error {
	if !l.open {
		l.begun = time.Now()
		l.count++
	}
	host, _ := os.Hostname()
	content := static.Content{WriterTo: text(fmt.Sprintf("{%q: %q, %q: %q, %q: %d}\n", "host", host, "writer", l.token, "renewals", l.count)), Type: "application/json", CacheControl: "no-store"}
	body, err := spool(content, l.store.client.MaxSize())
	if err != nil {
		return err
	}
	l.digest = body.digest
	etag, err := l.store.put(ctx, l.name, body, Header{content.Type, "", content.CacheControl, body.digest}, c)
	l.open = err != nil && !errors.Is(err, ErrCondition) && !errors.Is(err, errors.ErrUnsupported)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.etag, l.renewed = etag, l.begun // others may have seen the content since then
	return nil
}

// probe reports whether the store obeys conditions: it must refuse two that are not met.
func (l *lease) probe(ctx context.Context) (bool, error) {
	for _, c := range []Condition{{IfNone: true}, {IfMatch: "00000000000000000000000000000000"}} {
		if err := l.put(ctx, c); err == nil || errors.Is(err, errors.ErrUnsupported) {
			return false, nil
		} else if !errors.Is(err, ErrCondition) {
			return false, err
		}
	}
	return true, nil
}

// keep renews the lease until stop is closed. A renewal that has begun is completed: without its
// entity tag, the lease could not be given back.
func (l *lease) keep(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(l.store.options.Lease / renewals)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, l.store.options.Lease)
		late := l.open
		err := l.put(limited, Condition{IfMatch: l.etag})
		if late && err == nil { // it counts from its first attempt, which is long ago
			err = l.put(limited, Condition{IfMatch: l.etag})
		}
		cancel()
		l.mu.Lock()
		l.failed = err
		if errors.Is(err, ErrCondition) { // another error may pass before the lease ends
			l.lost = fmt.Errorf("the lease has been lost: %w (%w)", static.ErrLocked, err)
		}
		lost := l.lost
		l.mu.Unlock()
		if lost != nil {
			return
		}
	}
}

// check returns an error if the lease has ended.
func (l *lease) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil && elapsed(l.renewed) >= l.store.options.Lease {
		l.lost = fmt.Errorf("the lease could not be renewed in time: %w", static.ErrLockLost)
		if l.failed != nil {
			l.lost = fmt.Errorf("%w: %w", l.lost, l.failed)
		}
	}
	return l.lost
}

// elapsed returns the time since t. On many systems, the monotonic clock stands still while the
// computer is suspended, so the wall clock counts if it has advanced further.
func elapsed(t time.Time) time.Duration {
	return max(time.Since(t), time.Now().Round(0).Sub(t))
}
