package providertest

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/scan"
)

// full is a provider with every upgrade.
type full struct{ *memory.Set }

func (f full) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if !f.has(ctx, r.Key) {
		return nil, fs.ErrNotExist
	}
	return reader(r)
}

func (f full) has(ctx context.Context, key string) bool {
	known, err := f.Known(ctx, []string{key})
	return err == nil && known[0].Key != ""
}

func (f full) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	if c.Type == resourcesync.Deleted {
		return nil, fs.ErrNotExist
	}
	for known, err := range f.Changes(ctx, resourcesync.Interval{}) {
		if err != nil {
			return nil, err
		}
		if same(withoutLinks(known), withoutLinks(c)) {
			return reader(c.Resource)
		}
	}
	return nil, fs.ErrNotExist
}

func (f full) OpenPatch(ctx context.Context, c resourcesync.Change, l resourcesync.Link) (io.ReadCloser, error) {
	if _, err := f.OpenChange(ctx, c); err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(Patch(l))), nil
}

func (f full) Checksum(_ context.Context, r resourcesync.Resource) (uint32, error) {
	return crc32.ChecksumIEEE(written(r)), nil
}

func reader(r resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(written(r))), nil
}

// written returns the content that r describes, or nil if r states no length.
func written(r resourcesync.Resource) []byte {
	if _, known := r.Length.Bytes(); !known {
		return nil
	}
	return Content(r)
}

func newFull(t *testing.T, resources []resourcesync.Resource) (full, *Options) {
	f := full{memory.New(nil)}
	if err := f.Put(t.Context(), resources...); err != nil {
		t.Fatal(err)
	}
	return f, &Options{
		Put:       f.Set.Put,
		Delete:    f.Set.Delete,
		Want:      resources,
		ExactStat: true,
	}
}

func TestRun(t *testing.T) {
	Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *Options) {
		return newFull(t, resources)
	})
}

func TestTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, opts := newFull(t, awkward())
		if err := Test(t.Context(), f, opts); err != nil {
			t.Error(err)
		}
		left, err := collect(f.Resources(t.Context(), resourcesync.Range{}))
		if err != nil {
			t.Fatal(err)
		}
		want := awkward()
		slices.SortFunc(want, func(a, b resourcesync.Resource) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
		if err := difference(left, want, same); err != nil {
			t.Errorf("Test left other resources than it found: %v", err)
		}
	})
}

// TestExplicitUpgrades: upgrades in the options are tested in place of the provider's
// own.
func TestExplicitUpgrades(t *testing.T) {
	wrong := errors.New("wrong")
	for name, give := range map[string]func(o *Options, b *bent){
		"Stat": func(o *Options, b *bent) {
			b.stat = func(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
				return resourcesync.Stat{}, wrong
			}
			o.Stater = b
		},
		"Cuts": func(o *Options, b *bent) {
			b.cuts = func(context.Context, []resourcesync.Cut, int) ([]resourcesync.Cut, error) { return nil, wrong }
			o.Cutter = b
		},
		"Since": func(o *Options, b *bent) {
			b.since = func(context.Context) (time.Time, error) { return time.Time{}, wrong }
			o.Changer = onlyChanger{b, b}
		},
		"Windows": func(o *Options, b *bent) {
			b.windows = func(context.Context, int) ([]resourcesync.Interval, error) { return nil, wrong }
			o.Changer = b
		},
		"Open": func(o *Options, b *bent) {
			b.open = func(context.Context, resourcesync.Resource) (io.ReadCloser, error) { return nil, wrong }
			o.Opener = b
		},
		"OpenChange": func(o *Options, b *bent) {
			b.openChange = func(context.Context, resourcesync.Change) (io.ReadCloser, error) { return nil, wrong }
			o.Changer, o.ChangeOpener = onlyChanger{b, b}, b
		},
		"Watch": func(o *Options, b *bent) {
			b.watch = func(context.Context, func()) error { return wrong }
			o.Watcher = b
		},
		"Covers": func(o *Options, b *bent) {
			b.covers = func(*url.URL) bool { return false }
			o.Coverer = b
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBent(t, t.Context(), awkward()[:26])
				give(b.opts, b)
				rules := broken(Test(t.Context(), plain{b.full}, b.opts))
				if len(rules) == 0 {
					t.Error("what is wrong with it has not been found")
				}
				for _, rule := range rules {
					if !strings.HasPrefix(rule, name+"/") {
						t.Errorf("%s is broken", rule)
					}
				}
			})
		})
	}
}

// uniqueURIs makes opts.Put refuse resources at the URI of another.
func uniqueURIs(f full, opts *Options) {
	put := opts.Put
	opts.Put = func(ctx context.Context, resources ...resourcesync.Resource) error {
		for known, err := range f.Set.Resources(ctx, resourcesync.Range{}) {
			if err != nil {
				return err
			}
			if slices.ContainsFunc(resources, func(r resourcesync.Resource) bool { return r.URI == known.URI && r.Key != known.Key }) {
				return errors.ErrUnsupported
			}
		}
		return put(ctx, resources...)
	}
}

func TestUniqueURIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, opts := newFull(t, awkward()[:26])
		uniqueURIs(f, opts)
		if err := Test(t.Context(), f, opts); err != nil {
			t.Error(err)
		}
	})
}

// TestUnready: if the resources cannot be listed at all, there is one error, not one
// for each rule.
func TestUnready(t *testing.T) {
	err := Test(t.Context(), memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}}), nil)
	if !errors.Is(err, resourcesync.ErrNotReady) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v", err)
	}
}
