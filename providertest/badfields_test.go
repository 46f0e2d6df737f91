package providertest

import (
	"context"
	"iter"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// one is 1 for one of the resources, and 0 for the others.
func one(r *resourcesync.Resource) int {
	if r.Key == awkwardKeys[1] {
		return 1
	}
	return 0
}

// badFields are providers whose entries have a field that no document can hold.
func badFields() []bad {
	var all []bad
	in := func(name, field string, spoil func(r *resourcesync.Resource)) {
		all = append(all, bad{name: name, rules: "Resources/" + field, bend: func(b *bent) {
			b.resources = func(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
				return changed(b.full.Resources(ctx, r), func(v *resourcesync.Resource) {
					*v = v.Clone()
					spoil(v)
				})
			}
			b.opts.Want, b.opts.Put = nil, nil
			b.as = plain{b}
		}})
	}
	link := func(name string, spoil func(l *resourcesync.Link)) {
		in(name, "links", func(r *resourcesync.Resource) {
			l := resourcesync.Link{Rel: resourcesync.RelDuplicate, Href: "https://example.net/"}
			spoil(&l)
			r.Links = append(r.Links, l)
		})
	}
	hash := func(h resourcesync.Hash) []resourcesync.Hash { return []resourcesync.Hash{h} }

	in("unknown", "changefreq", func(r *resourcesync.Resource) { r.ChangeFreq = "sometimes" })
	in("no subtype", "type", func(r *resourcesync.Resource) { r.Type = "html" })
	in("not a token", "encoding", func(r *resourcesync.Resource) { r.Encoding = "gzip br" })
	in("base64", "hashes", func(r *resourcesync.Resource) {
		r.Hashes = append(r.Hashes, resourcesync.Hash{Algorithm: "md5", Digest: "1B2M2Y8AsgTpgAmY7PhCfg=="})
	})
	in("no algorithm", "hashes", func(r *resourcesync.Resource) { r.Hashes = hash(resourcesync.Hash{Digest: "00"}) })
	in("colon in the algorithm", "hashes", func(r *resourcesync.Resource) { r.Hashes = hash(resourcesync.Hash{Algorithm: "md5:", Digest: "00"}) })
	in("too many", "hashes", func(r *resourcesync.Resource) {
		for range 2000 * one(r) {
			r.Hashes = append(r.Hashes, resourcesync.Hash{Algorithm: "md5", Digest: "00112233445566778899aabbccddeeff"})
		}
	})
	link("no rel", func(l *resourcesync.Link) { l.Rel = "" })
	link("two rels", func(l *resourcesync.Link) { l.Rel = "duplicate via" })
	link("no href", func(l *resourcesync.Link) { l.Href = "" })
	link("relative href", func(l *resourcesync.Link) { l.Href = "/a" })
	link("space in href", func(l *resourcesync.Link) { l.Href = "https://example.net/a b" })
	link("path", func(l *resourcesync.Link) { l.Path = "/a" })
	link("pri", func(l *resourcesync.Link) { l.Pri = 1_000_000 })
	link("type", func(l *resourcesync.Link) { l.Type = "html" })
	link("encoding", func(l *resourcesync.Link) { l.Encoding = "," })
	link("hash", func(l *resourcesync.Link) { l.Hashes = hash(resourcesync.Hash{Algorithm: "md5", Digest: "zz"}) })
	link("attribute", func(l *resourcesync.Link) { l.Attrs = []resourcesync.Attr{{Name: "a"}} })
	in("no namespace", "attrs", func(r *resourcesync.Resource) { r.Attrs = []resourcesync.Attr{{Name: "a"}} })
	in("namespace of ResourceSync", "attrs", func(r *resourcesync.Resource) {
		r.Attrs = []resourcesync.Attr{{Space: "https://www.openarchives.org/rs/terms/", Name: "capability"}}
	})
	in("twice", "attrs", func(r *resourcesync.Resource) {
		r.Attrs = []resourcesync.Attr{{Space: "urn:a", Name: "a"}, {Space: "urn:a", Name: "a"}}
	})
	in("too much", "attrs", func(r *resourcesync.Resource) {
		r.Attrs = []resourcesync.Attr{{Space: "urn:a", Name: "a", Value: strings.Repeat("x", one(r)<<20)}}
	})
	return append(all, bad{name: "changefreq", rules: "Changes/fields OpenChange/bytes OpenChange/past OpenPatch/bytes", bend: func(b *bent) {
		b.changes = func(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
			return changed(b.full.Changes(ctx, iv), func(c *resourcesync.Change) { c.Resource.ChangeFreq = "sometimes" })
		}
		equal := b.opts.Equal
		if equal == nil {
			equal = resourcesync.Resource.Equal
		}
		b.opts.Equal = func(a, b resourcesync.Resource) bool {
			a.ChangeFreq, b.ChangeFreq = "", ""
			return equal(a, b)
		}
	}})
}
