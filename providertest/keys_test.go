package providertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// TestKeys: a backend with few keys, such as a key-value bucket of NATS, passes if its
// options state the possible keys.
func TestKeys(t *testing.T) {
	plain := func(key string) bool {
		return key != "" && strings.Trim(key, "-/_=.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" && !strings.HasPrefix(key, ".")
	}
	Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *Options) {
		set := memory.New(nil)
		put := func(ctx context.Context, resources ...resourcesync.Resource) error {
			for _, r := range resources {
				if !plain(r.Key) {
					return fmt.Errorf("invalid key %q", r.Key)
				}
			}
			return set.Put(ctx, resources...)
		}
		resources = slices.DeleteFunc(resources, func(r resourcesync.Resource) bool { return !plain(r.Key) })
		if err := put(t.Context(), resources...); err != nil {
			t.Fatal(err)
		}
		return set, &Options{Put: put, Delete: set.Delete, Keys: plain, ExactStat: true}
	})
}

// TestUnlike: a failure names the differences, and never prints two equal values.
func TestUnlike(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 5, time.UTC)
	zone := time.FixedZone("", 3600)
	base := resourcesync.Resource{Key: "a", LastModified: at, Length: resourcesync.Bytes(5), Links: []resourcesync.Link{{Href: "x", Modified: at}}}
	with := func(f func(r *resourcesync.Resource)) resourcesync.Resource {
		r := base.Clone()
		f(&r)
		return r
	}
	for want, got := range map[string]resourcesync.Resource{
		"no field differs, but Options.Equal reports false": with(func(r *resourcesync.Resource) {
			r.LastModified, r.Links[0].Modified, r.Hashes = at.In(zone), at.In(zone), []resourcesync.Hash{}
		}),
		"LastModified is 2026-01-01T12:00:00.000000006Z, expected 2026-01-01T12:00:00.000000005Z": with(func(r *resourcesync.Resource) {
			r.LastModified = at.Add(1)
		}),
		`Links[0].Href is "y", expected "x"`: with(func(r *resourcesync.Resource) { r.Links[0].Href = "y" }),
	} {
		if text := describeDifference(got, base); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
	for _, got := range []resourcesync.Resource{
		with(func(r *resourcesync.Resource) { r.Length = resourcesync.Length{} }),
		with(func(r *resourcesync.Resource) { r.Hashes = []resourcesync.Hash{{Algorithm: "md5"}} }),
	} {
		is, expected, _ := strings.Cut(describeDifference(got, base), ", expected ")
		if strings.HasSuffix(is, " is "+expected) {
			t.Errorf("two equal values: %s, expected %s", is, expected)
		}
	}
	long := strings.Repeat("k", resourcesync.MaxKeyLength-1)
	if a, b := quote(long+"a"), quote(long+"b"); a == b {
		t.Errorf("two keys are %s", a)
	}
}
