package rsxml

import (
	"reflect"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

func TestSetResourceAndChange(t *testing.T) {
	_, entries := fullDocument()
	full := entries[0]
	r := resourcesync.Resource{
		Key:          "a",
		URI:          full.Loc,
		LastModified: full.LastMod,
		ChangeFreq:   full.ChangeFreq,
		Length:       full.Metadata.Length,
		Type:         full.Metadata.Type,
		Encoding:     full.Metadata.Encoding,
		Hashes:       full.Metadata.Hashes,
		Links:        full.Links,
		Attrs:        full.Metadata.Attrs,
		Stamp:        "not published",
	}
	resource := full
	resource.Metadata.Change = ""
	resource.Metadata.Datetime = entries[1].Metadata.Datetime
	resource.Metadata.Path = ""

	// Every field of e begins with something that must go.
	e := full
	e.Metadata.Capability = "x"
	e.Metadata.At, e.Metadata.Completed, e.Metadata.From, e.Metadata.Until = full.LastMod, full.LastMod, full.LastMod, full.LastMod
	dirty := e

	if e.SetResource(&r); !reflect.DeepEqual(e, resource) {
		t.Errorf("resource: got %+v, want %+v", e, resource)
	}

	updated := resource
	updated.Metadata.Change = resourcesync.Updated
	updated.Metadata.Datetime = date("2025-05-01T12:00:00Z")
	e = dirty
	e.SetChange(&resourcesync.Change{Type: resourcesync.Updated, Datetime: updated.Metadata.Datetime, Resource: r})
	if !reflect.DeepEqual(e, updated) {
		t.Errorf("update: got %+v, want %+v", e, updated)
	}

	deleted := Entry{
		Loc:      full.Loc,
		LastMod:  full.LastMod,
		Metadata: Metadata{Change: resourcesync.Deleted, Datetime: updated.Metadata.Datetime},
		Links:    full.Links,
	}
	e = dirty
	e.SetChange(&resourcesync.Change{Type: resourcesync.Deleted, Datetime: updated.Metadata.Datetime, Resource: r})
	if !reflect.DeepEqual(e, deleted) {
		t.Errorf("deletion: got %+v, want %+v", e, deleted)
	}
}
