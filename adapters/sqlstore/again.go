package sqlstore

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A telling is that of a resource that was told of again, and when: it has not been
// changed otherwise.
type telling struct {
	key string
	at  int64
}

// tellAgain tells once more of resources whose URIs another resource has had until
// now: Destinations know URIs, not keys, and have just been told that what is there
// has been deleted.
func (a *application) tellAgain(ctx context.Context) error {
	deleted := func(e event) bool { return e.change == resourcesync.Deleted }
	if a.set.journal || !a.set.ready || !slices.ContainsFunc(a.events, deleted) {
		return nil
	}
	gone := map[string]bool{} // URIs of which a deletion is the last that was told
	for i := range a.events {
		if uri := uriOf(a.events[i].body); a.events[i].change == resourcesync.Deleted {
			gone[uri] = true
		} else {
			delete(gone, uri)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	uris := slices.Sorted(maps.Keys(gone))
	if err := a.loadPlaces(ctx, uris); err != nil {
		return err
	}
	there := map[string]string{} // keys of resources, by their URIs
	for _, key := range slices.Sorted(maps.Keys(a.items)) {
		if body := a.items[key].after.body; body != nil {
			if uri := uriOf(body); gone[uri] {
				there[uri] = key
			}
		}
	}
	for _, uri := range uris {
		if key, found := there[uri]; found {
			it := a.items[key]
			if err := a.record(resourcesync.Created, key, it.after.body, it); err != nil {
				return err
			}
			a.told = append(a.told, telling{key, it.after.newest})
		}
	}
	return nil
}

// atPlace is how many resources are looked at that are at the place of a URI, which
// may be on many hosts.
const atPlace = 100

// loadPlaces reads what is known of resources that may have these URIs, beside what
// is read already. Those without a place, such as URNs, are not found.
func (a *application) loadPlaces(ctx context.Context, uris []string) error {
	places := make([]int64, len(uris))
	for i, uri := range uris {
		if u, err := url.Parse(uri); err == nil {
			places[i] = placeOf(u)
		}
	}
	return a.conn.QueryEach(ctx, "SELECT key, newest, size, place, body FROM rs_resource"+a.store.byPlace()+" WHERE set_id = $1 AND place = $2 AND place <> 0 AND body IS NOT NULL LIMIT $3", len(places),
		func(i int) []any { return []any{a.set.id, places[i], atPlace} },
		func(_ int, r rowdb.Row) error {
			key := rowdb.String(r, 0)
			if a.items[key] == nil {
				known := row{exists: true, newest: r.Int(1), size: r.Int(2), place: r.Int(3), body: r.Append(nil, 4)}
				a.items[key] = &item{before: known, after: known}
			}
			return nil
		})
}
