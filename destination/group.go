package destination

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/digest"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// A group is the changes that are flushed and recorded together. First, the state records the new
// places and the deletions; then the Sink carries them out; then the group is recorded. See
// [run.settle] for a process that ends in between.
type group struct {
	*run
	until    time.Time
	finished []finished
	placing  []state.Intent // not recorded
	deletes  bool           // the group deletes copies, whose paths are not free yet
	stored   bool           // the Sink has stored something already
	growth   int64          // of the copy, in bytes
	received int64          // bytes
}

// A finished task is to be recorded. If failure is not nil, the resource could not be copied.
type finished struct {
	*task
	path    string
	have    *state.Resource // that the copy shows now; nil if it has nothing
	size    int64           // of content that has been stored
	stored  bool
	adopted bool // the copy has had the content before

	// confirmed is set if the stored content equals the former content of the copy.
	confirmed bool
	failure   error
}

func newGroup(r *run) *group {
	return &group{run: r, until: time.Now().Add(commitEvery)}
}

// full reports whether the group must be committed.
func (g *group) full() bool {
	return g.stored || g.received >= commitBytes || len(g.finished) == applyBatch || len(g.finished) > 0 && !time.Now().Before(g.until)
}

// finish passes the change of a task to the Sink when its download has ended. Failures of the
// resource are recorded; the error is one after which nothing can be applied, or errNextGroup.
func (g *group) finish(ctx context.Context, t *task) error {
	if t.Change.Type == resourcesync.Deleted {
		return g.delete(ctx, t)
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
		g.report.unused(g.log, t.opened.URI+" "+t.Member, t.unused)
		t.unused = nil
	}
	if local, ok := errors.AsType[*fs.PathError](t.err); ok {
		return fmt.Errorf("keeping the download of %s: %w", t.Change.Resource.URI, local) // a full disk, not a bad resource
	}
	absent, err := g.isAbsent(t)
	if err != nil {
		return err
	}
	if absent {
		isConfirmed := !t.Gone.IsZero() && time.Since(t.Gone) >= goneAfter
		if t.Gone.IsZero() {
			t.Gone = time.Now()
		}
		if isConfirmed || t.Doubt == state.DoubtDeletion && fetch.IsGone(t.err) { // the answer to the question
			t.Change.Type, t.again = resourcesync.Deleted, !isConfirmed
			if isConfirmed && t.Doubt == state.DoubtVersion {
				t.again, t.later = true, time.Now().Add(time.Since(t.Gone)/2)
			}
			return g.delete(ctx, t)
		}
	} else {
		t.Gone = time.Time{}
	}
	if t.err != nil {
		g.finished = append(g.finished, finished{task: t, failure: t.err})
		return nil
	}
	if t.rebuild.adopted != nil {
		if err := g.keep(t); err != nil {
			return err
		}
	} else if t.content.NotModified {
		g.finished = append(g.finished, finished{task: t, path: t.Have.Path, have: t.shown(t.Have.Path)})
	} else if err := g.put(ctx, t); err != nil {
		return err
	}
	g.meter.Done++
	g.meter.Pending--
	g.meter.update()
	return nil
}

// isAbsent reports whether the answer to a question is that the resource is gone: 404 or 410, or another version than the
// one that was listed before or after the deletion. If no other set has the resource, no document has that version, so
// it does not exist, or the next documents show it. Otherwise, it can be the version of another set, and is taken next time.
func (g *group) isAbsent(t *task) (bool, error) {
	switch {
	case t.Doubt == state.DoubtNone:
		return false, nil
	case fetch.IsGone(t.err):
		return true, nil
	case !isOther(t.err):
		return false, nil
	case t.Doubt == state.DoubtVersion:
		t.reask = true
		return false, nil
	}
	shared, err := g.state.IsShared(t.Change.Resource.URI)
	t.reask = shared
	return !shared, err
}

// isOther reports whether an error means that content is not the version of its entry.
func isOther(err error) bool {
	_, ok := errors.AsType[*fetch.MismatchError](err)
	return ok
}

// confirms reports whether t has requested the content that the copy has, because its entry cannot
// show a change and the server has no validators. It is stored again nevertheless: a process may
// have ended after it had stored other content.
func (t *task) confirms() bool {
	return t.Known && t.Change.Resource.LastModified.Equal(t.Have.LastMod) && !t.Change.Datetime.After(t.Have.Datetime) &&
		digest.Agree(t.Have.Hashes, t.content.Hashes)
}

// delete deletes the copy of a resource, if there is one. Any other file in its place belongs to
// others.
func (g *group) delete(ctx context.Context, t *task) error {
	if t.Known {
		t.Change.Resource.Key = t.Have.Path
		if _, ok := g.sink.(Verifier); ok {
			g.placing = append(g.placing, state.Intent{URI: t.Change.Resource.URI, Path: t.Have.Path, Deletes: true})
		}
		g.unflushed = true
		if err := g.placeNow(ctx); err != nil {
			return err
		}
		if err := g.sink.Delete(ctx, t.Change); err != nil {
			return fmt.Errorf("deleting the copy of %s: %w", t.Change.Resource.URI, err)
		}
		g.deletes = true
		g.growth -= t.Have.Size
	}
	g.finished = append(g.finished, finished{task: t, path: t.Have.Path})
	g.meter.Done++
	g.meter.Pending--
	return nil
}

// put passes the content of a resource to the Sink.
func (g *group) put(ctx context.Context, t *task) error {
	res, c := &t.Change.Resource, t.content
	growth := c.Size - t.Have.Size
	if total := g.bytes + g.growth + growth; g.options.MaxBytes > 0 && total > g.options.MaxBytes {
		return &sizeError{g.options.MaxBytes, res.URI}
	}
	path, kind := t.Have.Path, resourcesync.Updated
	if !t.Known {
		var err error
		if path, err = g.freePath(res.URI); err != nil {
			return err
		}
		if path != t.rebuild.other {
			kind = resourcesync.Created
		}
	}
	t.Change.Type = kind
	change := t.Change
	change.Resource.Key, change.Resource.Hashes, change.Resource.Length = path, c.Hashes, resourcesync.Bytes(c.Size)
	if change.Resource.Type == "" {
		change.Resource.Type = c.Type
	}
	if modified, err := http.ParseTime(c.LastModified); err == nil && change.Resource.LastModified.IsZero() {
		change.Resource.LastModified = modified
	}
	if !t.Known {
		g.state.Reserve(path)
		g.placing = append(g.placing, state.Intent{
			URI: res.URI, Path: path, Set: t.Set, List: t.List, Seen: t.Seen, Size: c.Size, Hashes: c.Hashes,
		})
	}
	g.unflushed = true
	if err := g.placeNow(ctx); err != nil {
		return err
	}
	content, err := c.Reader()
	if err == nil {
		err = g.sink.Put(ctx, change, content)
	}
	f := finished{task: t, path: path, have: t.shown(path), size: c.Size, stored: true, confirmed: t.confirms()}
	c.Close()
	t.content = nil
	if foreign, ok := errors.AsType[*ForeignError](err); ok {
		f.failure, f.stored = foreign, false
	} else if err != nil {
		return fmt.Errorf("storing the copy of %s: %w", res.URI, err)
	} else {
		g.growth += growth
		g.received += c.Size
		g.meter.Bytes += c.Size
	}
	g.finished = append(g.finished, f)
	return nil
}

// commit makes the Sink store the group, and records it, also if ctx has ended.
func (g *group) commit(ctx context.Context) error {
	defer g.state.Release()
	recording := context.WithoutCancel(ctx)
	if len(g.finished) == 0 {
		return nil
	}
	if err := g.place(recording); err != nil {
		return err
	}
	var flushed error
	if f, ok := g.sink.(Flusher); ok {
		flushed = f.Flush(ctx)
	}
	foreign, ok := ForeignErrors(flushed)
	if !ok {
		return flushed
	}
	for i := range g.finished {
		if f := &g.finished[i]; f.stored && foreign[f.path] != nil {
			f.failure, f.stored = foreign[f.path], false
			g.growth -= f.size - f.Have.Size
		}
	}
	err := g.state.Write(recording, func() error {
		done := make([]int64, 0, len(g.finished))
		for i := range g.finished {
			f := &g.finished[i]
			if settled, err := g.record(f); err != nil {
				return err
			} else if settled {
				done = append(done, f.Seq)
			}
		}
		return errors.Join(g.state.Done(done), g.folders.save(), g.state.Placed())
	})
	if err != nil {
		return err
	}
	g.unflushed = false
	g.state.Settled()
	g.folders.saved()
	g.bytes += g.growth
	for i := range g.finished {
		g.tell(&g.finished[i])
	}
	return nil
}

// record records a finished task. It reports whether the change is settled, and no longer pending.
func (g *group) record(f *finished) (settled bool, err error) {
	uri := f.Change.Resource.URI
	switch failed, ok := errors.AsType[*fetch.StatusError](f.failure); {
	case errors.Is(f.failure, fetch.ErrDown), errors.Is(f.failure, fetch.ErrPaused):
		return false, nil // it has not been tried
	case ok && failed.Status == http.StatusServiceUnavailable && !failed.Until.IsZero():
		return false, g.state.Delayed(f.Seq, f.failure, failed.Until)
	case f.failure != nil:
		_, blocked := errors.AsType[*ForeignError](f.failure)
		switch {
		case f.reask:
			err = g.state.Reask(f.Seq)
		case f.Doubt != state.DoubtNone && blocked:
			err = g.state.Answered(f.Seq)
		}
		return false, errors.Join(err, g.state.Failed(f.Seq, f.failure, f.Gone))
	case f.have != nil:
		if f.Doubt != state.DoubtNone && f.have.Vague {
			err = g.state.ForgetDocument(f.have.Set, f.have.List) // its entry may show the version
		}
		return true, errors.Join(err, g.state.SaveResource(uri, f.have))
	case f.Known:
		err = g.state.DeleteResource(uri)
	}
	if f.again && err == nil {
		return false, g.state.Ask(f.Seq, f.Gone, f.later)
	}
	return true, err
}

// tell reports a finished task that has been recorded.
func (g *group) tell(f *finished) {
	switch {
	case errors.Is(f.failure, fetch.ErrPaused): // the report names the host
	case f.failure != nil:
		g.report.fail(g.log, f.Change.Resource.URI, f.failure)
	case f.adopted:
		g.report.Adopted++
	case f.confirmed:
	case f.stored && f.Known:
		g.report.Updated++
	case f.stored:
		g.report.Created++
	case f.have == nil && f.Known:
		g.report.Deleted++
	}
	if f.stored {
		g.report.Received += f.size
	}
}
