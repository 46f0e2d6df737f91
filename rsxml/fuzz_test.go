package rsxml

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// FuzzDecode wants of any input that the decoder takes it only if the encoder writes a
// document from it that the decoder accepts, and that reads the same again if it has
// nothing that the encoder leaves out.
func FuzzDecode(f *testing.F) {
	for _, file := range documents(f, goldenDir) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, bad := range slices.Concat(notDocuments, badDocuments) {
		f.Add([]byte(strings.Replace(bad.data, "▮", "", 1)))
	}
	f.Add([]byte(fullXML))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, entries, err := Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		again := encode(h, entries)
		h2, entries2, err := Decode(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("encoded again: %v in\n%s", err, again)
		}
		if leavesOut(&h, entries) {
			return
		}
		if !reflect.DeepEqual(h2, h) || !reflect.DeepEqual(entries2, entries) {
			t.Fatalf("encoded again:\n%s\nreads\n%+v\n%+v\nwant\n%+v\n%+v", again, h2, entries2, h, entries)
		}
	})
}

// leavesOut reports whether the encoder leaves out something of a document.
func leavesOut(h *Head, entries []Entry) bool {
	if CheckEntry(&Head{Metadata: h.Metadata}, &Entry{Metadata: h.Metadata, Links: h.Links}) != nil {
		return true
	}
	for i := range entries {
		if CheckEntry(h, &entries[i]) != nil {
			return true
		}
	}
	return false
}
