package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/pack"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	// maxOpen is the maximum number of packages that are on disk: one that is applied and
	// one that is received.
	maxOpen = 2

	// requestCost is the number of bytes that a request costs. A package is received if
	// that costs less than requests for the resources that are needed from it.
	requestCost = 16 << 10
)

// packages are the open packages of a run. Methods are called by one goroutine.
type packages struct {
	*run
	ctx    context.Context // of the run
	cancel context.CancelFunc

	open   []*opened        // oldest first
	copied map[int64]uint64 // the sums of the manifests whose paths are known, by package
	closed map[int64]bool   // packages that have been open, or are not worth it
}

// An opened package is being received or open.
type opened struct {
	state.Package
	tasks sync.WaitGroup // that read it
	used  bool           // there has been one

	otherPaths atomic.Bool // a path of the copy of its manifest differs

	ready   chan struct{} // closed when the rest is set
	content *fetch.Content
	zip     *pack.Package
	members members // nil if the known paths come from the package
	err     error
}

func newPackages(ctx context.Context, r *run) *packages {
	p := &packages{run: r, closed: make(map[int64]bool), copied: make(map[int64]uint64)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// close closes all packages. Those with pending changes stay on disk for the next run.
func (p *packages) close() error {
	p.cancel()
	var failed error
	for _, o := range p.open {
		o.end(p.run)
		if o.content == nil {
			continue
		}
		if n, _, err := p.state.Contained(o.ID); err == nil && n > 0 {
			failed = errors.Join(failed, o.content.Keep())
			continue
		}
		failed = errors.Join(failed, o.content.Close())
	}
	p.open = nil
	return failed
}

// find returns a package that has the content of pending changes, and begins to receive it,
// or returns nil if the resources should be requested one by one.
func (p *packages) find(id int64) (*opened, error) {
	for _, o := range p.open {
		if o.ID == id {
			return o, nil
		}
	}
	if p.closed[id] {
		return nil, nil
	}
	known, err := p.state.Package(id)
	if err != nil {
		return nil, err
	}
	worth, err := p.worth(&known)
	if err != nil || !worth {
		p.closed[id] = true
		return nil, err
	}
	return p.begin(known, fetch.Validators{}, true)
}

// worth reports whether receiving a package saves requests.
func (p *packages) worth(known *state.Package) (bool, error) {
	n, bytes, err := p.state.Contained(known.ID)
	if err != nil || p.options.Dumps == DumpsAlways {
		return n > 0, err
	}
	if length, ok := known.Length.Bytes(); ok {
		return n > 1 && bytes+n*requestCost >= length, nil
	}
	return n > 1 && 2*n >= known.Entries, nil
}

// begin begins to receive a package. If it has not been modified since the known version,
// it has no content. If the paths of its resources are known, they may come from a copy of
// its manifest.
func (p *packages) begin(known state.Package, since fetch.Validators, paths bool) (*opened, error) {
	if len(p.open) == maxOpen {
		if err := p.evict(); err != nil {
			return nil, err
		}
	}
	o := &opened{Package: known, ready: make(chan struct{})}
	p.open = append(p.open, o)
	want := fetch.Want{URI: o.URI, Known: since, Max: p.options.MaxBytes, Package: true}
	if length, ok := o.Length.Bytes(); ok {
		// The set may have changed since the dump was written.
		if limit := max(2*length, length+64<<20); want.Max == 0 || limit < want.Max {
			want.Max = limit
		}
	}
	copied := p.copied[o.ID]
	go func() {
		defer close(o.ready)
		o.receive(p.ctx, p.client, p.folder, want)
		if paths && o.zip != nil {
			o.members = readMembers(o.zip, o.URI, copied)
		}
	}()
	return o, nil
}

// receive receives the package and reads its directory.
func (o *opened) receive(ctx context.Context, client *fetch.Client, folder fetch.Folder, want fetch.Want) {
	if o.content, o.err = client.Download(ctx, folder, want); o.err != nil || o.content.NotModified {
		return
	}
	content, err := o.content.Reader()
	if err != nil {
		o.err = err
		return
	}
	if o.zip, err = pack.Open(content.(io.ReaderAt), o.content.Size); err != nil {
		o.err = fmt.Errorf("%s: %w", o.URI, err)
	}
}

// receive receives a package and opens it, or finds that it is not modified since the version
// that is known.
func (p *packages) receive(ctx context.Context, known state.Package, since fetch.Validators) (*opened, error) {
	for _, o := range p.open {
		if o.ID == known.ID {
			return o, o.wait(ctx)
		}
	}
	o, err := p.begin(known, since, false)
	if err != nil {
		return nil, err
	}
	err = o.wait(ctx)
	if err != nil || o.content.NotModified {
		p.open = p.open[:len(p.open)-1] // its changes may be pending, and need it
	}
	return o, err
}

// wait waits until the package has been received.
func (o *opened) wait(ctx context.Context) error {
	select {
	case <-o.ready:
		return o.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ahead begins to receive the package after o, whose changes are pending after a position,
// when o is used for the first time. applyPackages does this for Resource Dumps.
func (p *packages) ahead(o *opened, after int64) error {
	if o.used || o.Baseline {
		return nil
	}
	o.used = true
	next, err := p.state.NextPackage(o.ID, after)
	if err != nil || next == 0 {
		return err
	}
	_, err = p.find(next)
	return err
}

// evict closes the oldest package.
func (p *packages) evict() error {
	o := p.open[0]
	p.open = p.open[1:]
	p.closed[o.ID] = true
	o.end(p.run)
	if o.content == nil {
		return nil
	}
	return o.content.Close()
}

// end waits for the package and the tasks that read it, and reports it.
func (o *opened) end(r *run) {
	<-o.ready
	o.tasks.Wait()
	switch {
	case o.err == nil && !o.content.NotModified:
		r.report.Packages++
		if o.otherPaths.Load() {
			r.report.deviate(o.URI, &rsxml.SyntaxError{Line: 1, Column: 1, ID: "manifest-copy", Section: "Core 11.1",
				Rule: "the copy of the manifest (rel=\"contents\") has other paths than the manifest in the package"})
		}
	case o.err != nil && !errors.Is(o.err, context.Canceled):
		r.report.unused(r.log, o.URI, o.err)
	}
}

// read reads the content of a resource from its package.
func (o *opened) read(ctx context.Context, folder fetch.Folder, t *task, want fetch.Want) (*fetch.Content, error) {
	if err := o.wait(ctx); err != nil {
		return nil, err
	}
	if o.zip == nil {
		return nil, pack.ErrMissing
	}
	member, ok := o.member(t)
	if !ok {
		return nil, pack.ErrMissing
	}
	if member != t.Member {
		o.otherPaths.Store(true)
	}
	r, err := o.zip.Open(member)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := fetch.Read(folder, want, r)
	if err == nil {
		c.Type, c.Date = t.Change.Resource.Type, o.date()
	}
	return c, err
}

// date returns the time as of which the package has its contents, as far as its response
// states it.
func (o *opened) date() time.Time {
	if modified, err := http.ParseTime(o.content.LastModified); err == nil && modified.Before(o.content.Date) {
		return modified
	}
	return o.content.Date
}
