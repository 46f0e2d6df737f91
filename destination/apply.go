package destination

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
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

	// commitEvery is the time after which applied changes are recorded.
	commitEvery = 2 * time.Second
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
	content *fetch.Content
	unused  error // of the package
	err     error
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
	for begin := 0; begin < len(tasks); {
		next := begin
		before, bytes := *r.report, r.bytes
		var failed error
		err := r.state.Write(ctx, func() error {
			for until := time.Now().Add(commitEvery); next < len(tasks) && time.Now().Before(until); next++ {
				for ; started < min(next+ahead, len(tasks)); started++ {
					if err := tasks[started].start(r, queue); err != nil {
						return err
					}
				}
				if failed = r.finish(ctx, tasks[next]); failed != nil {
					break // record the entries finished before it
				}
			}
			return r.flush(ctx)
		})
		if err != nil {
			r.report.Created, r.report.Updated, r.report.Deleted, r.report.Received = before.Created, before.Updated, before.Deleted, before.Received
			r.bytes = bytes
		}
		if failed = errors.Join(failed, err); failed != nil {
			return failed
		}
		begin = next
	}
	return nil
}

// flush makes the Sink store the changes that it has received.
func (r *run) flush(ctx context.Context) error {
	if f, ok := r.sink.(Flusher); ok {
		return f.Flush(ctx)
	}
	return nil
}

// start begins the download of a task, if it needs one.
func (t *task) start(r *run, queue chan<- *task) (err error) {
	if t.Change.Type == resourcesync.Deleted {
		return nil
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

// finish applies the change of a task when its download has ended. Failures of the resource
// are recorded; the error is one after which nothing can be applied.
func (r *run) finish(ctx context.Context, t *task) error {
	if t.Change.Type == resourcesync.Deleted {
		return r.delete(ctx, t)
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if t.unused != nil {
		r.report.unused(r.log, t.opened.URI+" "+t.Member, t.unused)
	}
	if local, ok := errors.AsType[*fs.PathError](t.err); ok {
		return fmt.Errorf("keeping the download of %s: %w", t.Change.Resource.URI, local) // a full disk, not a bad resource
	}
	if t.err != nil {
		return r.fail(t)
	}
	r.meter.Done++
	r.meter.Pending--
	r.meter.update()
	if t.content.NotModified {
		return r.record(t, t.Have.Path)
	}
	defer func() {
		t.content.Close()
		t.content = nil
	}()
	return r.put(ctx, t)
}

// fail records that a resource could not be copied, unless it has not been tried.
func (r *run) fail(t *task) error {
	r.report.fail(r.log, t.Change.Resource.URI, t.err)
	if errors.Is(t.err, fetch.ErrDown) {
		return nil
	}
	return r.state.Failed(t.Seq, t.err)
}

// delete deletes a resource from the copy.
func (r *run) delete(ctx context.Context, t *task) error {
	paths := []string{t.Have.Path}
	if !t.Known {
		// A process may have ended after the Sink had stored a copy, and before that
		// was recorded.
		var err error
		if paths, err = r.state.FreePaths(t.Change.Resource.URI, r.host); err != nil {
			return err
		}
	}
	for _, path := range paths {
		t.Change.Resource.Key = path
		if err := r.sink.Delete(ctx, t.Change); err != nil {
			return fmt.Errorf("deleting the copy of %s: %w", t.Change.Resource.URI, err)
		}
	}
	if t.Known {
		if err := r.state.DeleteResource(t.Change.Resource.URI); err != nil {
			return err
		}
		r.bytes -= t.Have.Size
		r.report.Deleted++
	}
	r.meter.Done++
	r.meter.Pending--
	return r.state.Done(t.Seq)
}

// put stores the content of a resource.
func (r *run) put(ctx context.Context, t *task) error {
	res, c := &t.Change.Resource, t.content
	total := r.bytes - t.Have.Size + c.Size
	if r.options.MaxBytes > 0 && total > r.options.MaxBytes {
		return fmt.Errorf("the copy would have more than %d bytes with %s", r.options.MaxBytes, res.URI)
	}
	path := t.Have.Path
	if !t.Known {
		var err error
		if path, err = r.state.FreePath(res.URI, r.host); err != nil {
			return fmt.Errorf("%s: %w", res.URI, err)
		}
	}
	t.Change.Type = resourcesync.Updated
	if !t.Known {
		t.Change.Type = resourcesync.Created
	}
	change := t.Change
	change.Resource.Key, change.Resource.Hashes, change.Resource.Length = path, c.Hashes, resourcesync.Bytes(c.Size)
	if change.Resource.Type == "" {
		change.Resource.Type = c.Type
	}
	if modified, err := http.ParseTime(c.LastModified); err == nil && change.Resource.LastModified.IsZero() {
		change.Resource.LastModified = modified
	}
	content, err := c.Reader()
	if err == nil {
		err = r.sink.Put(ctx, change, content)
	}
	if err != nil {
		return fmt.Errorf("storing the copy of %s: %w", res.URI, err)
	}
	r.bytes = total
	r.meter.Bytes += c.Size
	r.report.Received += c.Size
	if t.Known {
		r.report.Updated++
	} else {
		r.report.Created++
	}
	return r.record(t, path)
}

// record stores that the copy shows a change.
func (r *run) record(t *task, path string) error {
	res := &t.Change.Resource
	have := state.Resource{
		Path: path, Set: t.Set, List: t.List, Seen: max(t.Seen, t.Have.Seen), Datetime: t.Have.DatetimeAfter(t.Change.Datetime),
		LastMod: res.LastModified, Length: res.Length, Size: t.Have.Size, Hashes: t.Have.Hashes, Validators: t.Have.Validators,
	}
	if t.List == "" {
		have.List = t.Have.List
	}
	if c := t.content; c != nil && !c.NotModified {
		have.Size, have.Hashes, have.Validators = c.Size, c.Hashes, c.Validators
	}
	if err := r.state.SaveResource(res.URI, &have); err != nil {
		return err
	}
	return r.state.Done(t.Seq)
}
