package sqlstore

import (
	"context"
	"hash/fnv"
	"net/url"
	"path"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// places computes the places of a state. A place is a hash of the decoded path and the query of
// a URI. It is 0 for a URI that is not valid or has no path, such as a URN: no request can have it.
//
// Scans list folder by folder, so the first 16 bits are a hash of the folder: each batch writes a
// few runs of the index of places instead of nearly all of its pages. In folders, similar names
// are listed one after the other. In a state whose places have bits for stems, the next 8 bits are
// a hash of the beginning of the name, and these bits one of its stem. Older programs do not know
// such places, so only a state that had no sets when the script of [stemPlaces] ran has them.
type places struct{ stemBits int } // 0, 8 or 16

// stemPlaces has the number of bits for stems by the script from which programs know these places.
// With 8, millions of names in one folder share so few hashes that a batch writes to many pages.
var stemPlaces = map[int64]int{23: 8, 24: 16}

// readPlaces returns the places of a state.
func readPlaces(ctx context.Context, q rowdb.Querier) (places, error) {
	n, err := rowdb.One(ctx, q, rowdb.Int, "SELECT coalesce(max(number), 0) FROM rs_migration WHERE number IN (23, 24)")
	return places{stemBits: stemPlaces[n]}, err
}

// of returns the place of the resource at uri.
func (p places) of(uri string) int64 {
	u, err := url.Parse(uri)
	if err != nil {
		return 0
	}
	return p.ofURL(u)
}

// ofURL returns the place of the resource at u.
func (p places) ofURL(u *url.URL) int64 {
	name, query := changes.Place(u)
	if name == "" {
		return 0
	}
	slash := strings.LastIndexByte(name, '/') + 1
	folder, name := name[:slash], name[slash:]
	// FNV mixes its last bytes into the low bits first.
	first, last := (hash(folder)^hash(folder)>>32)<<48, hash(folder, name, "\x00", query)<<16>>16
	if n := p.stemBits; n > 0 {
		shared := stem(strings.TrimSuffix(name, path.Ext(name)) + query)
		last = hash(name[:min(len(name), 2)])<<56>>16 | hash(shared)<<(64-n)>>24 | last<<(24+n)>>(24+n)
	}
	return int64(first | last | 1) // never 0
}

// stem returns the part of a name that it shares with up to a thousand others if the names
// are numbered: the part before the last three digits of its last number.
func stem(name string) string {
	end := strings.LastIndexAny(name, "0123456789") + 1
	begin := len(strings.TrimRight(name[:end], "0123456789"))
	return name[:max(begin, end-3)]
}

func hash(parts ...string) uint64 {
	h := fnv.New64a()
	for _, part := range parts {
		_, _ = h.Write([]byte(part))
	}
	return h.Sum64()
}
