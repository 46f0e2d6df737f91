package document

import (
	"context"
	"strconv"

	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A Description is the Source Description, or the index of it and its parts. It depends on the
// configuration alone.
type Description struct {
	Text  []byte
	Parts [][]byte
}

// Describe renders the Source Description with some sets of s, and with the Others. Do not render other
// documents at the same time.
func (s *Site) Describe(sets []*Set) (err error) {
	listed := make([]wellknown.Set, len(sets))
	for i, st := range sets {
		listed[i] = wellknown.Set{CapabilityList: st.URL(KindCapabilityList, ""), DescribedBy: st.description()}
	}
	listed = append(listed, s.Others...)
	d := &s.Description
	d.Text, d.Parts, err = wellknown.Description(listed, &wellknown.Options{
		DescribedBy: s.description(),
		URI:         s.Routes.URL(KindDescription, nil, ""),
		Part:        func(k int) string { return s.Routes.URL(KindDescriptionPart, nil, strconv.Itoa(k+1)) },
	})
	return err
}

func (d *Description) render(_ context.Context, t Target, _ *State, b *render.Body) error {
	if b.Written = d.Text; t.Part == "" {
		b.Head = &rsxml.Head{Index: len(d.Parts) > 0}
		return nil
	}
	k, err := strconv.Atoi(t.Part)
	if err != nil || k < 1 || k > len(d.Parts) || strconv.Itoa(k) != t.Part {
		return t.NotExist("a part of the Source Description")
	}
	b.Written = d.Parts[k-1]
	return nil
}
