package destination_test

import (
	"testing"
)

// lists checks that the listing of the copy has the resources that a report counts, as many
// of them held, and that the Sink has the content of each.
func (m *mirror) lists(t *testing.T, resources, held int64) {
	t.Helper()
	var got, kept int64
	before := ""
	for c, err := range m.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got++
		if c.Held {
			kept++
		}
		body, ok := files(t, m.dir)[c.Key]
		if n, known := c.Length.Bytes(); !ok || !known || n != int64(len(body)) || c.URI <= before || len(c.Hashes) == 0 {
			t.Errorf("the listing has %+v after %q; the file has %q", c, before, body)
		}
		before = c.URI
	}
	if got != resources || kept != held {
		t.Errorf("the listing has %d resources, %d of them held; want %d and %d", got, kept, resources, held)
	}
}
