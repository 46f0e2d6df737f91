package destination

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
)

const (
	// applyBatch is the number of pending changes that are read at a time, and that are flushed and
	// recorded together.
	applyBatch = 512

	// downloads is the number of contents that are received or read at a time, as far as the limits
	// of hosts allow.
	downloads = 32

	// aheadBytes is the maximum size of contents, in bytes, that are in memory before their turn.
	// Small ones are received while a group is flushed and recorded.
	aheadBytes = 8 << 20

	// commitEvery is the time after which applied changes are flushed and recorded, and
	// commitBytes the number of bytes.
	commitEvery = 2 * time.Second
	commitBytes = 64 << 20
)

// apply applies the changes that are pending now after a position, in order, and returns the
// position of the last one. Downloads are concurrent.
func (r *run) apply(ctx context.Context, after int64) (last int64, err error) {
	if last, err = r.state.LastPending(); err != nil {
		return after, err
	}
	if r.meter.Pending, err = r.state.PendingCount(); err != nil {
		return after, err
	}
	return max(after, last), r.applyAll(ctx, after, func(after int64) ([]state.Pending, error) {
		return r.state.Pending(after, last, applyBatch)
	})
}

// applyPackages applies the changes whose content is in packages of Resource Dumps, package by
// package, because the lists can have any other order.
func (r *run) applyPackages(ctx context.Context) error {
	known, err := r.state.Packages(true)
	if err != nil || len(known) == 0 {
		return err
	}
	if r.meter.Pending, err = r.state.PendingCount(); err != nil {
		return err
	}
	for i, p := range known {
		o, err := r.packages.find(p.ID)
		if err == nil && o != nil && i+1 < len(known) {
			_, err = r.packages.find(known[i+1].ID) // is received while this one is applied
		}
		if err == nil {
			err = r.applyPackage(ctx, p.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyPackage applies the pending changes whose content is in a package, in order.
func (r *run) applyPackage(ctx context.Context, id int64) error {
	return r.applyAll(ctx, 0, func(after int64) ([]state.Pending, error) {
		return r.state.PendingIn(id, after, applyBatch)
	})
}

// applyAll applies the changes that read returns after a position, in order.
func (r *run) applyAll(ctx context.Context, after int64, read func(after int64) ([]state.Pending, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	l := &line{run: r, read: read, after: after, queue: make(chan *task, applyBatch)}
	defer l.workers.Wait()
	defer l.discard()
	defer cancel()
	for {
		if err := r.settle(ctx); err != nil {
			return err
		}
		g := newGroup(r)
		t, failed := l.first(ctx)
		for failed == nil && t != nil && !g.full() {
			if failed = g.finish(ctx, t); failed == nil {
				l.pop()
				t, failed = l.first(ctx)
			}
		}
		if failed == errNextGroup {
			failed = nil
		}
		if failed = errors.Join(failed, g.commit(ctx)); failed != nil { // record what was finished before it
			return failed
		}
		if t == nil {
			return nil
		}
	}
}

// A line has the tasks of changes in their order. The first ones are being downloaded, so that the
// server and the disk do not wait for each other.
type line struct {
	*run
	read    func(after int64) ([]state.Pending, error) // the next changes after a position
	after   int64                                      // the position of the last one
	ended   bool                                       // all have been read
	tasks   []*task                                    // that have been read and not finished
	started int                                        // of them
	bytes   int64                                      // in memory, at most, of those that have been started

	queue   chan *task
	running int // workers, which are few because a stack grows for each first request
	workers sync.WaitGroup
}

// first starts tasks as far as they may be ahead, and returns the first one, or nil if there is none.
func (l *line) first(ctx context.Context) (*task, error) {
	for !l.ended && l.started < applyBatch || l.started < len(l.tasks) {
		if l.started == len(l.tasks) {
			batch, err := l.read(l.after)
			if err != nil {
				return nil, err
			}
			for i := range batch {
				l.tasks, l.after = append(l.tasks, &task{Pending: batch[i]}), batch[i].Seq
			}
			l.ended = len(batch) < applyBatch
			continue
		}
		t := l.tasks[l.started]
		t.memory = t.maxMemory()
		if l.started == applyBatch || l.started > 0 && l.bytes+t.memory > aheadBytes {
			break
		}
		l.started++
		l.bytes += t.memory
		if err := t.start(ctx, l); err != nil {
			return nil, err
		}
	}
	if len(l.tasks) == 0 {
		return nil, nil
	}
	return l.tasks[0], nil
}

// pop removes the first task, which has been finished.
func (l *line) pop() {
	t := l.tasks[0]
	t.discard()
	l.bytes -= t.memory
	l.tasks, l.started = l.tasks[1:], l.started-1
}

// download begins the download of a task. Tasks are started only while the queue has room.
func (l *line) download(ctx context.Context, t *task) {
	t.done = make(chan struct{})
	l.queue <- t
	if l.running == downloads {
		return
	}
	l.running++
	l.workers.Go(func() {
		for t := range l.queue {
			t.content, t.err = t.download(ctx, l.run)
			if t.err == nil && len(t.rebuild.unsure) > 0 {
				t.err = t.compare(l.run)
			}
			close(t.done)
		}
	})
}

// discard ends the tasks that have been started and not finished.
func (l *line) discard() {
	close(l.queue)
	for _, t := range l.tasks[:l.started] {
		t.discard()
	}
}

// errNextGroup means that a task belongs to the next group.
var errNextGroup = errors.New("next group")
