package destination

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/digest"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// A task is a pending change with the copy that it changes.
type task struct {
	state.Pending

	opened  *opened       // the package that has the content, or nil
	done    chan struct{} // closed when the rest is set; nil if nothing is downloaded
	rebuild rebuilding
	content *fetch.Content
	unused  error // of the package
	err     error
	again   bool      // a later run asks again whether the resource is gone
	reask   bool      // a later run takes any version
	later   time.Time // not before this, or zero
	memory  int64     // bytes of the content in memory, at most
}

// discard waits for the download of a task that has been started, and closes its content.
func (t *task) discard() {
	if t.done == nil {
		return
	}
	<-t.done
	if t.content != nil {
		t.content.Close()
	}
}

// maxMemory returns the maximum number of bytes of the content that are in memory.
func (t *task) maxMemory() int64 {
	length, known := t.Change.Resource.Length.Bytes()
	switch {
	case t.Change.Type == resourcesync.Deleted:
		return 0
	case known:
		return min(length, fetch.MaxMemory)
	}
	return fetch.MaxMemory
}

// start begins the download of a task, if it needs one.
func (t *task) start(ctx context.Context, l *line) (err error) {
	r := l.run
	if t.Change.Type == resourcesync.Deleted {
		return nil
	}
	switch {
	case r.options.Rebuild && !t.Known:
		if t.rebuild.paths, err = r.state.FreePaths(t.Change.Resource.URI, r.host); err != nil {
			return err
		}
	case t.Attempts > 0 && t.Doubt == state.DoubtNone: // a question is asked, even if a foreign file is in the place of the resource
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
	l.download(ctx, t)
	return nil
}

// checkPlace returns a ForeignError if a foreign file is in the way of a copy, so that its content
// is not requested in vain by each run.
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

// download returns the content of the resource of t: from its package if it is there,
// otherwise by a request.
func (t *task) download(ctx context.Context, r *run) (*fetch.Content, error) {
	res := &t.Change.Resource
	if tree.IsUnreadable(res.URI) {
		if t.opened != nil {
			t.opened.tasks.Done()
		}
		return nil, tree.ErrUnreadable
	}
	want := fetch.Want{URI: res.URI, Length: res.Length, Hashes: res.Hashes, Encoding: res.Encoding, Max: r.maxResource()}
	if t.Known && (len(res.Hashes) == 0 || digest.Agree(t.Have.Hashes, res.Hashes)) {
		want.Known = t.Have.Validators
		if length, known := res.Length.Bytes(); known && length != t.Have.Size {
			want.Known.LastModified = "" // another version of the same second, or of an earlier one
		}
	}
	if len(t.rebuild.paths) > 0 {
		if done, err := t.adopt(ctx, r); done {
			if t.opened != nil {
				t.opened.tasks.Done()
			}
			return nil, err
		}
	}
	if t.opened != nil {
		c, err := t.opened.read(ctx, r.folder, t, want)
		t.opened.tasks.Done()
		if _, local := errors.AsType[*fs.PathError](err); err == nil || local || ctx.Err() != nil {
			return c, err
		}
		if t.opened.err == nil {
			t.unused = err
		}
	}
	return r.client.Download(ctx, r.folder, want)
}
