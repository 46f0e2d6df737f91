package rshttp

import (
	"context"
	"strconv"

	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A description is the Source Description, or the index of it and its parts. It depends on the
// configuration alone.
type description struct {
	text  []byte
	parts [][]byte
}

func (d *description) write(s *site) (err error) {
	sets := make([]wellknown.Set, len(s.order))
	for i, st := range s.order {
		sets[i] = wellknown.Set{CapabilityList: st.url(kindCapabilityList, ""), DescribedBy: st.DescribedBy}
	}
	d.text, d.parts, err = wellknown.Description(sets, &wellknown.Options{
		DescribedBy: s.DescribedBy,
		URI:         s.routes.url(kindDescription, nil, ""),
		Part:        func(k int) string { return s.routes.url(kindDescriptionPart, nil, strconv.Itoa(k+1)) },
	})
	return err
}

func (d *description) render(_ context.Context, t target, _ *state, b *render.Body) error {
	if b.Written = d.text; t.part == "" {
		b.Head = &rsxml.Head{Index: len(d.parts) > 0}
		return nil
	}
	k, err := strconv.Atoi(t.part)
	if err != nil || k < 1 || k > len(d.parts) || strconv.Itoa(k) != t.part {
		return t.notExist("a part of the Source Description")
	}
	b.Written = d.parts[k-1]
	return nil
}
