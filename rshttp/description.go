package rshttp

import (
	"context"
	"strconv"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A description is the Source Description, or the index of it and its parts.
type description struct {
	text  []byte
	parts [][]byte
}

// write writes d. It depends on the configuration alone.
func (d *description) write(s *site) (err error) {
	sets := make([]wellknown.Set, len(s.order))
	for i, st := range s.order {
		sets[i] = wellknown.Set{CapabilityList: st.url(kindCapabilityList, ""), DescribedBy: st.describedBy}
	}
	d.text, d.parts, err = wellknown.Description(sets, &wellknown.Options{
		DescribedBy: s.options.DescribedBy,
		URI:         s.routes.url(kindDescription, nil, ""),
		Part: func(k int) string {
			return s.routes.url(kindDescriptionPart, nil, strconv.Itoa(k+1))
		},
	})
	return err
}

func (d *description) render(_ context.Context, t target, _ *state, b *render.Body) error {
	b.Written = d.text
	if t.kind.name == kindDescriptionPart {
		k, err := strconv.Atoi(t.part)
		if err != nil || k < 1 || k > len(d.parts) || strconv.Itoa(k) != t.part {
			return notExist("a part of the Source Description", t)
		}
		b.Written = d.parts[k-1]
	}
	return nil
}

// renderCapabilityList renders the Capability List of a set (section 9).
func renderCapabilityList(_ context.Context, t target, _ *state, b *render.Body) error {
	b.Head = &rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.CapabilityList}}
	if t.set.describedBy != "" {
		b.Head.Links = append(b.Head.Links, resourcesync.Link{Rel: resourcesync.RelDescribedBy, Href: t.set.describedBy})
	}
	b.Head.Links = append(b.Head.Links, resourcesync.Link{Rel: resourcesync.RelUp, Href: t.set.routes.url(kindDescription, nil, "")})
	for _, c := range t.set.capabilities() {
		b.Add(&rsxml.Entry{
			Loc:      t.url(string(c), ""),
			Metadata: rsxml.Metadata{Capability: c},
		})
	}
	for _, c := range t.set.channels() {
		b.Add(t.set.channelEntry(c))
	}
	return nil
}
