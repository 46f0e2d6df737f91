package rshttp

import (
	"context"
	"strconv"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// describe makes the Source Description, and its parts if it needs an index.
func (s *Source) describe() (description []byte, parts [][]byte, err error) {
	sets := make([]wellknown.Set, len(s.order))
	for i, st := range s.order {
		sets[i] = wellknown.Set{
			CapabilityList: s.routes.url(kindCapabilityList, st, ""),
			DescribedBy:    st.describedBy,
		}
	}
	return wellknown.Description(sets, &wellknown.Options{
		DescribedBy: s.options.DescribedBy,
		URI:         s.Description(),
		Part: func(k int) string {
			return s.routes.url(kindDescriptionPart, nil, strconv.Itoa(k+1))
		},
	})
}

func (s *Source) renderDescription(_ context.Context, t target) (*document, error) {
	text := s.description
	if t.kind == kindDescriptionPart {
		k, err := strconv.Atoi(t.part)
		if err != nil || k < 1 || k > len(s.parts) || strconv.Itoa(k) != t.part {
			return nil, notExist("a part of the Source Description", t)
		}
		text = s.parts[k-1]
	}
	return (&document{target: t}).complete(render.Compress(text))
}

// renderCapabilityList makes the Capability List of a set (section 9).
func (s *Source) renderCapabilityList(_ context.Context, t target) (*document, error) {
	head := &rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.CapabilityList}}
	if t.set.describedBy != "" {
		head.Links = append(head.Links, resourcesync.Link{Rel: resourcesync.RelDescribedBy, Href: t.set.describedBy})
	}
	head.Links = append(head.Links, resourcesync.Link{Rel: resourcesync.RelUp, Href: s.Description()})
	b := render.Body{Head: head}
	defer b.Free()
	for _, c := range t.set.capabilities() {
		b.Add(&rsxml.Entry{
			Loc:      s.routes.url(string(c), t.set, ""),
			Metadata: rsxml.Metadata{Capability: c},
		})
	}
	for _, c := range t.set.channels() {
		s.addChannel(&b, t.set, c)
	}
	return (&document{target: t}).complete(b.Text())
}
