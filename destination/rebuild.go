package destination

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// openState opens the state. To rebuild it, a damaged state is put aside first.
func (d *Destination) openState(path string, maxState int64, with seams) error {
	opened := func() (err error) {
		if d.state, err = state.Open(path, d.source, d.options.Moved, maxState, with.hook); err != nil || !d.options.Rebuild {
			return err
		}
		if err = d.state.Check(); err != nil {
			d.state.Close()
		}
		return err
	}
	err := opened()
	if _, damaged := errors.AsType[*state.DamagedError](err); !damaged || !d.options.Rebuild {
		return err
	}
	aside, err := state.SetAside(path, time.Now())
	if err != nil {
		return fmt.Errorf("putting the damaged state aside: %w", err)
	}
	d.log.Warn("the damaged state has been put aside; delete it when the copy is complete", "file", aside)
	return opened()
}

// A found content is at one of the paths that the copy of a resource can have.
type found struct {
	path   string
	size   int64
	hashes []resourcesync.Hash
}

// rebuilding has the findings of a task while the state is rebuilt.
type rebuilding struct {
	paths   []string // free ones that the copy can have
	adopted *found   // has the content of the Source
	unsure  []found  // can have it: the entry has no hash
	other   string   // a path with another content
}

// adopt looks for the content of t in the copy, and then reports whether no request is needed.
func (t *task) adopt(ctx context.Context, r *run) (done bool, err error) {
	verifier, ok := r.sink.(Verifier)
	if !ok {
		return false, errors.New("the state cannot be rebuilt, because the Sink is not a Verifier")
	}
	res := &t.Change.Resource
	for _, path := range t.rebuild.paths {
		content, err := verifier.Open(ctx, resourcesync.Resource{Key: path, URI: res.URI})
		if _, foreign := errors.AsType[*ForeignError](err); foreign || errors.Is(err, fs.ErrNotExist) {
			continue // Put finds what cannot be a copy
		}
		if err != nil {
			return true, err
		}
		f := found{path: path}
		f.size, f.hashes, err = digest.Of(content, res.Hashes)
		content.Close()
		if err != nil {
			return true, fmt.Errorf("reading %s: %w", path, err)
		}
		comparable, same := digest.Compare(f.hashes, res.Hashes)
		switch length, known := res.Length.Bytes(); {
		case known && length != f.size, comparable && !same:
			t.rebuild.other = path
		case comparable:
			t.rebuild.adopted = &f
			return true, nil
		default:
			t.rebuild.unsure = append(t.rebuild.unsure, f)
		}
	}
	if t.rebuild.other != "" && len(t.rebuild.unsure) == 0 && !r.options.Replace {
		return true, t.differs(r)
	}
	return false, nil
}

// compare looks for the received content in the copy.
func (t *task) compare(r *run) error {
	for _, f := range t.rebuild.unsure {
		if digest.Agree(f.hashes, t.content.Hashes) {
			t.rebuild.adopted = &f
			return nil
		}
		t.rebuild.other = f.path
	}
	if t.rebuild.other != "" && !r.options.Replace {
		return t.differs(r)
	}
	return nil
}

// differs returns the error for a file with another content.
func (t *task) differs(r *run) error {
	return fmt.Errorf("%s has different content than the Source; move it elsewhere, or replace all such files with --replace", r.describe(t.rebuild.other))
}

// describe returns the name of the file at a path of the copy, for people.
func (d *Destination) describe(path string) string {
	if folder, ok := d.sink.(*Folder); ok {
		return folder.describe(path)
	}
	return path
}

// keep finishes a task whose content the copy has.
func (g *group) keep(t *task) error {
	f := t.rebuild.adopted
	free, err := g.state.FreePaths(t.Change.Resource.URI, g.host)
	if err != nil {
		return err
	}
	for _, path := range free {
		if path != f.path {
			continue
		}
		g.state.Reserve(path)
		have := t.shown(path)
		have.Size, have.Hashes = f.size, f.hashes
		if t.content != nil {
			t.content.Close()
			t.content = nil
		}
		g.growth += f.size
		g.finished = append(g.finished, finished{task: t, path: path, have: have, adopted: true})
		return nil
	}
	g.finished = append(g.finished, finished{task: t, failure: fmt.Errorf("%s is the copy of another resource; run this again", g.describe(f.path))})
	return nil
}
