package bucket_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/internal/azuretest"
)

// A container that becomes private takes its objects off the list, unless asked otherwise.
func TestAzurePrivate(t *testing.T) {
	b := azuretest.New(t)
	b.Publish(t)
	b.Put(t, "a", "one")
	b.Put(t, "b", "two")
	p := publishAzure(t, b, bucket.Options{VerifyEvery: always})
	p.scan(t, resourcesync.ScanResult{Created: 2})
	b.Unpublish(t)
	if _, err := p.set.Scan(t.Context(), p.Resources(t.Context())); err != nil {
		t.Fatal(err)
	}
	if listed := p.listed(t); len(listed) != 0 || !strings.Contains(p.log.String(), "cannot be read without credentials") {
		t.Errorf("%v are listed\n%s", listed, p.log)
	}
	all := publishAzure(t, b, bucket.Options{Private: true})
	all.scan(t, resourcesync.ScanResult{Created: 2})
	r := all.listed(t)["a"]
	if got, err := all.read(t.Context(), r); got != "one" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// Azure keeps any MD5 that a client states for an object in blocks.
func TestAzureWrongMD5(t *testing.T) {
	b := azuretest.New(t)
	b.Publish(t)
	wrong := []byte("0123456789abcdef")
	b.PutMD5(t, "a", strings.Repeat("x", 3<<20), wrong)
	o, err := b.Open(t).List(nil).Next(t.Context())
	if err != nil || string(o.MD5) != string(wrong) {
		t.Fatalf("the store has %q, %v", o.MD5, err)
	}
	p := publishAzure(t, b, bucket.Options{})
	p.scan(t, resourcesync.ScanResult{Created: 1})
	if r := p.listed(t)["a"]; len(r.Hashes) != 0 {
		t.Errorf("hashes %v", r.Hashes)
	}
}

// A listing has several pages, and objects that have not changed are not read again.
func TestAzurePages(t *testing.T) {
	const n = 1100
	b := azuretest.New(t)
	for i := range n {
		b.Put(t, fmt.Sprintf("%d/%d-ä", i%7, i), "x")
	}
	p := publishAzure(t, b, bucket.Options{Private: true})
	p.scan(t, resourcesync.ScanResult{Created: n})
	p.scan(t, resourcesync.ScanResult{Unchanged: n})
}

// The driver escapes some names, and reads objects with other names.
func TestAzureNames(t *testing.T) {
	b := azuretest.New(t)
	p := publishAzure(t, b, bucket.Options{Private: true})
	b.Put(t, "good", "x")
	b.Put(t, "folder/", "")
	others := []string{"x__0x2b__y", "100%", "a#b", "a?b", `a"b`}
	for _, key := range others {
		b.Put(t, key, "x")
	}
	p.scan(t, resourcesync.ScanResult{Created: 1})
	if got := strings.Count(p.log.String(), "object not listed"); got != len(others) {
		t.Errorf("%d reports:\n%s", got, p.log)
	}
	ranges, listing := p.Part(t.Context(), []string{"good", "100%"})
	if got, err := p.set.ScanRanges(t.Context(), ranges, listing); got.Deleted > 0 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
