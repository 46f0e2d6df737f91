package destination

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	// maxIndexes is the maximum depth of indexes.
	maxIndexes = 3

	// readAttempts is the number of attempts to read a list whose transfer breaks.
	readAttempts = 3
)

// A baseline is the reading of the Resource Lists of a set.
type baseline struct {
	*run
	set  tree.Set
	st   *state.Set
	seen map[string]bool // lists

	at      time.Time // as of which the lists are complete
	created int64
	noted   int64 // by this reading
}

// maxReadings is the maximum number of times that the Resource Lists are read. A resource that
// has moved between two lists while they were read is in none of them. The next reading finds
// it.
const maxReadings = 3

// readResources compares the Resource Lists of a set with the copy, and notes the differences.
// Only when all lists have been read, resources that they do not list are noted as deleted.
func (r *run) readResources(ctx context.Context, set tree.Set, st *state.Set) error {
	st.Baseline++
	st.Known = false
	if err := r.state.Write(ctx, func() error { return r.state.SaveSet(*st) }); err != nil {
		return err
	}
	b := &baseline{run: r, set: set, st: st}
	for reading := 1; reading <= maxReadings; reading++ {
		if err := b.read(ctx); err != nil {
			return err
		}
		if len(b.seen) < 2 || reading > 1 && b.noted == 0 {
			break
		}
	}
	return r.state.Write(ctx, func() error { return b.finish() })
}

// read reads all lists of the set, or its Resource Dumps if it has no lists.
func (b *baseline) read(ctx context.Context) error {
	b.seen, b.noted = make(map[string]bool), 0
	if len(b.set.Lists[resourcesync.ResourceList]) == 0 {
		dumps := dumpReader{run: b.run, begin: func(d *tree.Document, _ time.Time) bool {
			if at := notAfter(d.Head.Metadata.At, d.Header); b.at.IsZero() || at.Before(b.at) {
				b.at = at
			}
			return true
		}, each: func(e packageEntry) error { return b.dump(ctx, e) }}
		return dumps.read(ctx, b.set.Lists[resourcesync.ResourceDump])
	}
	for _, uri := range b.set.Lists[resourcesync.ResourceList] {
		if err := b.list(ctx, uri, 0); err != nil {
			return err
		}
	}
	return nil
}

// finish notes the deletions, unless they are too many, and records that the set is known.
func (b *baseline) finish() error {
	if err := b.state.Inherit(b.set.URI, b.st.Baseline, b.at); err != nil {
		return err
	}
	if err := b.state.Forget(b.set.URI, b.st.Baseline, b.at); err != nil {
		return err
	}
	count, missing, err := b.state.Missing(b.set.URI, b.st.Baseline, b.at)
	if err != nil {
		return err
	}
	now := time.Now().UnixMicro()
	next, hold := b.st.Guard.Judge(b.limits, guard.Found{Begun: now, At: now, Count: count + b.created, Created: b.created, Missing: missing})
	b.st.Guard = next
	switch {
	case hold:
		b.report.Held += missing
		b.log.Warn("the Source lists so few of the resources of the copy that their deletions are held", "set", b.set.URI, "missing", missing, "of", count)
	case missing > 0:
		if err := b.state.NoteMissing(b.set.URI, b.st.Baseline, b.at); err != nil {
			return err
		}
	}
	b.st.Cursor, b.st.Known = b.at, true
	if now := time.UnixMicro(now); b.at.After(now) {
		b.st.Cursor = now // see readChanges
	}
	return b.state.SaveSet(*b.st)
}

// list reads a Resource List or an index of them.
func (b *baseline) list(ctx context.Context, uri string, depth int) error {
	if b.seen[uri] {
		return nil
	}
	b.seen[uri] = true
	known, err := b.state.Document(uri)
	if err != nil {
		return err
	}
	var parts []rsxml.Entry
	err = b.attempt(ctx, uri, func() error {
		parts, err = b.readList(ctx, uri, depth, known)
		return err
	})
	if err != nil {
		return err
	}
	if len(parts) > 0 && depth == maxIndexes {
		return fmt.Errorf("%s: there are more than %d levels of indexes", uri, maxIndexes)
	}
	for _, part := range parts {
		if err := b.list(ctx, part.Loc, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// attempt repeats f if the transfer of a document breaks.
func (r *run) attempt(ctx context.Context, uri string, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || attempt == readAttempts || ctx.Err() != nil || !errors.Is(err, fetch.ErrBroken) && !tree.IsInvalid(err) {
			return err
		}
		r.log.Warn("a list is read again", "list", uri, "error", err)
	}
}

// readList notes the entries of a list. It returns the parts of an index.
func (b *baseline) readList(ctx context.Context, uri string, depth int, known fetch.Validators) (parts []rsxml.Entry, err error) {
	d, err := b.reader.Open(ctx, uri, known)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if d.NotModified {
		if depth == 0 {
			b.at = time.Time{}
		}
		return nil, b.note(ctx, uri, d, nil)
	}
	at := notAfter(d.Head.Metadata.At, d.Header)
	if depth == 0 && (len(b.seen) == 1 || at.Before(b.at)) {
		b.at = at
	}
	if d.Head.Index {
		return readParts(uri, d)
	}
	return nil, b.note(ctx, uri, d, nil)
}

// note notes the entries of a list, or of the manifest of a package.
func (b *baseline) note(ctx context.Context, uri string, d *tree.Document, in *state.Package) error {
	if d.NotModified {
		return b.state.Write(ctx, func() error {
			n, err := b.state.Unchanged(b.set.URI, uri, b.st.Baseline)
			b.meter.Listed += n
			return err
		})
	}
	at := notAfter(d.Head.Metadata.At, d.Header)
	return b.noteAll(ctx, d, func(e *rsxml.Entry) error {
		p := state.Pending{
			Set: b.set.URI, List: uri, Seen: b.st.Baseline, At: at,
			Change: resourcesync.Change{Resource: resource(e)},
		}
		p.In(in, e.Metadata.Path)
		noted, err := b.state.Note(&p)
		if noted {
			b.noted++
		}
		if p.New {
			b.created++
		}
		return err
	}, func() error { return b.state.SaveDocument(uri, d.Validators) })
}

// maxParts is the maximum number of entries of an index that is read, and maxPartBytes that of
// bytes of their URLs. They are in memory. The Sitemap protocol allows 50,000 entries.
const (
	maxParts     = 100_000
	maxPartBytes = 32 << 20
)

// noteAll calls note for each entry of d and end after the last, in transactions. Further
// entries are parsed meanwhile.
func (r *run) noteAll(ctx context.Context, d *tree.Document, note func(*rsxml.Entry) error, end func() error) error {
	p := parse(d)
	defer p.stop()
	for more := true; more; {
		entries := <-p.batches
		more = entries != nil
		err := r.state.Write(ctx, func() error {
			for i := range entries {
				if err := note(&entries[i]); err != nil {
					return err
				}
				r.meter.Listed++
			}
			switch {
			case more:
				return nil
			case p.err != nil:
				return p.err
			}
			return end()
		})
		if err != nil {
			return err
		}
		r.meter.update()
	}
	return nil
}

// resource returns the resource of an entry.
func resource(e *rsxml.Entry) resourcesync.Resource {
	return resourcesync.Resource{
		URI: e.Loc, LastModified: e.LastMod, Length: e.Metadata.Length, Type: e.Metadata.Type,
		Encoding: e.Metadata.Encoding, Hashes: e.Metadata.Hashes, Links: e.Links,
	}
}

// notAfter returns t, or the time of the response if that is earlier: some Sources write
// local time as UTC, and no list can show changes of the future.
func notAfter(t time.Time, header http.Header) time.Time {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		date = time.Now()
	}
	if date = date.Add(time.Second); t.After(date) {
		return date
	}
	return t
}
