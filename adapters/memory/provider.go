package memory

import (
	"context"
	"fmt"
	"iter"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

// Resources implements [resourcesync.Provider].
func (s *Set) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		st, err := s.view(ctx)
		if err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		st.items.Ascend(r.From, func(key string, it item) bool {
			switch {
			case !r.Contains(key):
				return false
			case it.member == nil:
				return true
			}
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Resource{}, err)
				return false
			}
			return yield(*it.member.resource, nil)
		})
	}
}

// Stat implements [resourcesync.Stater]. Its cost is constant for the whole set, and
// linear in the number of keys for a range.
//
// Version changes when something in the range changes, and otherwise only if the journal
// drops a deletion just outside of the range.
//
// LastModified is never before the time at which the set was created, or its first scan
// ended. It includes deletions, and moves back only if the journal drops the last change
// in an empty range.
func (s *Set) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	st, err := s.view(ctx)
	switch {
	case err != nil:
		return resourcesync.Stat{}, err
	case r == resourcesync.Range{}:
		return st.whole, nil
	}
	return st.stat(r), nil
}

// Cuts implements [resourcesync.Cutter]. It reads all keys, but no resources.
func (s *Set) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	if every < 1 {
		return nil, fmt.Errorf("memory: invalid page size of %d resources", every)
	}
	st, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	division := paging.NewCuts(previous, every)
	st.items.Scan(func(key string, it item) bool {
		if err = ctx.Err(); err != nil {
			return false
		}
		newest := moment(max(it.newest, st.begin))
		if it.member != nil {
			division.Add(key, it.member.size, newest)
		} else {
			division.AddDeleted(key, newest)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	cuts := division.Done()
	for i := range cuts {
		if cuts[i].Newest.IsZero() {
			cuts[i].Newest = moment(st.begin)
		}
	}
	return cuts, nil
}

// A place is an index entry of a resource: by the decoded path and the raw query of its
// URI, for requests, and by the URI, which resources may share.
type place struct {
	path, query string // empty for a URI that cannot be requested, such as a URN
	uri         string
	key         string
}

func placeOf(uri, key string) place {
	p := place{uri: uri, key: key}
	if u, err := url.Parse(uri); err == nil {
		p.path, p.query = changes.Place(u)
	}
	return p
}

// place returns the place of m. It parses the URI again, because storing the place would
// nearly double the memory of a resource.
func (m *member) place() place { return placeOf(m.resource.URI, m.resource.Key) }

func (p place) less(o place) bool {
	switch {
	case p.path != o.path:
		return p.path < o.path
	case p.query != o.query:
		return p.query < o.query
	case p.uri != o.uri:
		return p.uri < o.uri
	}
	return p.key < o.key
}

// Covers implements [resourcesync.Coverer]: it reports whether a resource's URI has the
// decoded path and the raw query of u. It ignores scheme and host. It allocates only on the
// first read after a change.
func (s *Set) Covers(u *url.URL) bool {
	st := s.current()
	path, query := changes.Place(u)
	if !st.ready || path == "" {
		return false
	}
	covered := false
	st.places.Ascend(place{path: path, query: query}, func(at place) bool {
		covered = at.path == path && at.query == query
		return false
	})
	return covered
}
