package destination

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

const (
	// applyBatch is the number of pending changes that are read at a time, and ahead the
	// number of downloads that can be finished before their turn.
	applyBatch = 512
	ahead      = 32

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
	for {
		if err := r.settle(ctx); err != nil {
			return after, err
		}
		batch, err := r.state.Pending(after, last, applyBatch)
		if err != nil || len(batch) == 0 {
			return max(after, last), err
		}
		if err := r.applyBatch(ctx, batch); err != nil {
			return after, err
		}
		after = batch[len(batch)-1].Seq
	}
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
	for after := int64(0); ; {
		if err := r.settle(ctx); err != nil {
			return err
		}
		batch, err := r.state.PendingIn(id, after, applyBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		if err := r.applyBatch(ctx, batch); err != nil {
			return err
		}
		after = batch[len(batch)-1].Seq
	}
}

// A task is a pending change with the copy that it changes.
type task struct {
	state.Pending

	opened  *opened       // the package that has the content, or nil
	done    chan struct{} // closed when the rest is set; nil if nothing is downloaded
	rebuild rebuilding
	content *fetch.Content
	unused  error // of the package
	err     error
	again   bool // the next run asks again whether the resource is gone
}

func (r *run) applyBatch(ctx context.Context, batch []state.Pending) error {
	tasks := make([]*task, len(batch))
	for i := range batch {
		tasks[i] = &task{Pending: batch[i]}
	}
	ctx, cancel := context.WithCancel(ctx)
	queue := make(chan *task, ahead)
	var downloads sync.WaitGroup
	for range min(ahead, len(tasks)) { // few goroutines, because a stack grows for each first request
		downloads.Go(func() {
			for t := range queue {
				t.content, t.err = t.download(ctx, r)
				if t.err == nil && len(t.rebuild.unsure) > 0 {
					t.err = t.compare(r)
				}
				close(t.done)
			}
		})
	}
	defer downloads.Wait()
	defer func() {
		cancel()
		close(queue)
		for _, t := range tasks {
			t.discard()
		}
	}()
	started := 0
	for next := 0; next < len(tasks); {
		g := newGroup(r)
		var failed error
		for failed == nil && next < len(tasks) && !g.full() {
			for ; started < min(next+ahead, len(tasks)); started++ {
				if err := tasks[started].start(ctx, r, queue); err != nil {
					return err
				}
			}
			if failed = g.finish(ctx, tasks[next]); failed == nil {
				next++
			}
		}
		if failed == errNextGroup {
			failed = nil
		}
		if failed = errors.Join(failed, g.commit(ctx)); failed != nil { // record what was finished before it
			return failed
		}
	}
	return nil
}

// start begins the download of a task, if it needs one.
func (t *task) start(ctx context.Context, r *run, queue chan<- *task) (err error) {
	if t.Change.Type == resourcesync.Deleted {
		return nil
	}
	switch {
	case r.options.Rebuild && !t.Known:
		if t.rebuild.paths, err = r.state.FreePaths(t.Change.Resource.URI, r.host); err != nil {
			return err
		}
	case t.Attempts > 0 && t.Gone.IsZero(): // a resource that may be gone is asked again, whatever is in its place
		if err := r.checkPlace(ctx, t); err != nil {
			if _, foreign := errors.AsType[*ForeignError](err); !foreign {
				return err
			}
			t.done, t.err = make(chan struct{}), err
			close(t.done)
			return nil
		}
	}
	if t.Package > 0 {
		if t.opened, err = r.packages.find(t.Package); err != nil {
			return err
		}
	}
	if t.opened != nil {
		if err := r.packages.ahead(t.opened, t.Seq); err != nil {
			return err
		}
		t.opened.tasks.Add(1)
	}
	t.done = make(chan struct{})
	queue <- t // has room: no more than ahead have been started and not finished
	return nil
}

// checkPlace returns a ForeignError if something is in the way of a copy, so that its content is not
// requested in vain by each run.
func (r *run) checkPlace(ctx context.Context, t *task) error {
	verifier, ok := r.sink.(Verifier)
	if !ok {
		return nil
	}
	path := t.Have.Path
	if !t.Known {
		var err error
		if path, err = r.state.FreePath(t.Change.Resource.URI, r.host); err != nil {
			return err
		}
	}
	content, err := verifier.Open(ctx, resourcesync.Resource{Key: path, URI: t.Change.Resource.URI})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	content.Close()
	if t.Known {
		return nil
	}
	kind := "content"
	if _, ok := r.sink.(*Folder); ok {
		kind = "a file"
	}
	return &ForeignError{Key: path, Name: r.describe(path), Kind: kind}
}

// maxResource returns the maximum size of a resource: none can be larger than the copy.
func (r *run) maxResource() int64 {
	limit, total := r.options.MaxResource, r.options.MaxBytes
	if limit == 0 || total > 0 && total < limit {
		return total
	}
	return limit
}

// discard ends a task that may not have been finished.
func (t *task) discard() {
	if t.done == nil {
		return
	}
	<-t.done
	if t.content != nil {
		t.content.Close()
	}
}

// errNextGroup means that a task belongs to the next group.
var errNextGroup = errors.New("next group")
