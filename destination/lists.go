package destination

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A baseline is the reading of the Resource Lists of a set.
type baseline struct {
	*run
	set   tree.Set
	st    *state.Set
	lists walk

	at      time.Time // as of which the lists are complete; zero if that is not known
	begun   bool      // at is set
	created int64
	noted   int64 // by this reading
	total   int64 // noted by all readings, with the deletions
	reading int   // the number of the current one
	first   int64 // the baseline of the first one: each has its own

	// unreadable is set if a list has an entry with an unreadable URI. It can belong to any
	// resource, so no resource counts as absent.
	unreadable bool
}

// maxReadings is the maximum number of times that the Resource Lists are read. A resource that
// has moved between two lists while they were read is in none of them. The next reading finds
// it.
const maxReadings = 3

// readResources compares the Resource Lists of a set with the copy, and notes the differences.
// Only when all lists have been read, resources that they do not list are noted as deleted.
func (r *run) readResources(ctx context.Context, set tree.Set, st *state.Set) (noted int64, err error) {
	r.compared[set.URI] = true
	st.Baseline++
	st.Known = false
	err = r.state.Write(ctx, func() error {
		// The changes after the lists are read and compared again.
		if err := r.state.ForgetAllReadings(set.URI); err != nil {
			return err
		}
		return r.state.SaveSet(*st)
	})
	if err != nil {
		return 0, err
	}
	if len(r.freshnessOf(set.URI).begun) > 0 { // the lists have to show what the changes lack
		ctx = fetch.Uncached(ctx)
	}
	b := &baseline{run: r, set: set, st: st, first: st.Baseline}
	b.lists = walk{run: r, known: b.known, visit: b.visit}
	for b.reading = 1; b.reading <= maxReadings; b.reading++ {
		if b.reading > 1 {
			st.Baseline++
			if err := r.state.Write(ctx, func() error { return r.state.SaveSet(*st) }); err != nil {
				return b.total, err
			}
		}
		failed, err := b.read(ctx)
		if err != nil {
			return b.total, err
		}
		if failed != nil {
			st.Partial = true
			return b.total, errors.Join(failed, b.end())
		}
		if len(b.lists.seen) < 2 || b.reading > 1 && b.noted == 0 {
			break
		}
	}
	err = r.state.Write(ctx, func() error { return b.finish() })
	return b.total, err
}

// read reads all lists of the set, or its Resource Dumps if it has no lists. failed has the
// errors of those that cannot be read.
func (b *baseline) read(ctx context.Context) (failed, err error) {
	b.noted = 0
	b.freshnessOf(b.set.URI).forget()
	defer func() { b.total += b.noted }()
	if len(b.set.Lists[resourcesync.ResourceList]) == 0 {
		dumps := dumpReader{run: b.run, begin: func(p *page) (bool, error) {
			b.freshnessOf(b.set.URI).list(p)
			if p.top {
				b.complete(p)
			}
			return true, nil
		}, each: func(e packageEntry) error { return b.dump(ctx, e) }}
		return dumps.read(ctx, b.set.Lists[resourcesync.ResourceDump])
	}
	err = b.lists.all(ctx, b.set.Lists[resourcesync.ResourceList])
	return b.lists.failed, err
}

// complete records the time as of which the lists with the page p are complete: the time of the
// earliest one.
func (b *baseline) complete(p *page) {
	if !b.begun || p.at.Before(b.at) {
		b.begun, b.at = true, p.at
	}
}

// known returns the record of a list of the set.
func (b *baseline) known(uri string) (state.Document, error) {
	return b.state.Document(b.set.URI, uri)
}

// visit notes the entries of a list.
func (b *baseline) visit(ctx context.Context, p *page) ([]rsxml.Entry, error) {
	b.freshnessOf(b.set.URI).list(p)
	if p.top {
		b.complete(p)
	} else if date := fetch.Date(p.Header); !p.NotModified && date.Add(time.Second).Before(b.at) {
		b.at = date // a cache has sent a part from before the index
	}
	return b.note(ctx, p, nil)
}

// note notes the entries of a list, or of the manifest of a package. It returns the parts of an
// index.
func (b *baseline) note(ctx context.Context, p *page, in *state.Package) ([]rsxml.Entry, error) {
	if p.NotModified {
		return nil, b.state.Write(ctx, func() error {
			n, noted, unverifiable, err := b.state.Unchanged(b.set.URI, p.uri, b.st.Baseline)
			b.meter.Listed += n
			b.noted += noted
			b.report.Unverifiable += unverifiable
			return err
		})
	}
	readable, first := true, true
	return b.noteAll(ctx, p.Document, func(e *rsxml.Entry) error {
		if first {
			first = false
			// If the reading ends early, its entries are not the entries of the version that was
			// read before.
			if err := b.state.ForgetDocument(b.set.URI, p.uri); err != nil {
				return err
			}
		}
		readable = readable && !tree.IsUnreadable(e.Loc)
		n := state.Pending{
			Set: b.set.URI, List: p.uri, Seen: b.st.Baseline, At: p.at,
			Change: resourcesync.Change{Resource: resource(e)},
		}
		n.In(in, e.Metadata.Path)
		noted, err := b.state.Note(&n)
		if noted {
			b.noted++
			if n.Unverifiable {
				b.report.Unverifiable++
			}
		}
		if n.New {
			b.created++
		}
		return err
	}, func(parts []rsxml.Entry) error {
		b.unreadable = b.unreadable || !readable
		// A list that changes between two readings has not lost the entries of the first one yet: a cache can have
		// sent an old document. So the next run reads it again.
		return b.save(p, b.st, b.st.Baseline, readable && len(parts) == 0 && b.reading == 1)
	})
}

// noteAll calls note for each entry of d that is not a part, and end after the last with the
// parts, in transactions. Further entries are parsed meanwhile.
func (r *run) noteAll(ctx context.Context, d *tree.Document, note func(*rsxml.Entry) error, end func(parts []rsxml.Entry) error) (parts []rsxml.Entry, err error) {
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
				return &listError{p.err}
			}
			parts = p.parts.entries
			return end(parts)
		})
		if err != nil {
			return nil, err
		}
		r.meter.update()
	}
	return parts, nil
}

// resource returns the resource of an entry.
func resource(e *rsxml.Entry) resourcesync.Resource {
	return resourcesync.Resource{
		URI: e.Loc, LastModified: e.LastMod, Length: e.Metadata.Length, Type: e.Metadata.Type,
		Encoding: e.Metadata.Encoding, Hashes: e.Metadata.Hashes, Links: e.Links,
	}
}

// notAfter returns the at of a list, or the time of the answer or the present time if that is
// earlier: some Sources write local time as UTC, and no list can show changes of the future.
func notAfter(at time.Time, header http.Header) time.Time {
	for _, t := range []time.Time{fetch.Date(header), time.Now()} {
		if !at.Before(t.Add(time.Second)) {
			at = t
		}
	}
	return at
}
