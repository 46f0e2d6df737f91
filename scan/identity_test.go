package scan_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A named folder can be told from others.
type named struct {
	*folder
	id scan.Identity
}

func (n named) Identity() scan.Identity { return n.id }

// A boundAs is a bindable origin with an identity.
type boundAs struct {
	*bindable
	id scan.Identity
}

func (b boundAs) Identity() scan.Identity { return b.id }

// A linked folder can be the same under another name.
type linked struct {
	named
	same bool
	err  error
}

func (l linked) Recognizes(ctx context.Context, set scan.Stored) (bool, error) {
	if _, err := set.Known(ctx, nil); err != nil {
		return false, err
	}
	return l.same, l.err
}

func TestIdentity(t *testing.T) {
	lost := errors.New("the disk is lost")
	old := scan.Identity{Name: "/releases/1", Given: "/current"}
	next := scan.Identity{Name: "/releases/2", Given: "/current"}
	other := scan.Identity{Name: "/other", Given: "/other"}
	by := func(id scan.Identity) named { return named{&folder{}, id} }
	for _, tt := range []struct {
		name    string
		origin  scan.Origin
		options scan.Options
		refused string        // the error, in part
		want    scan.Identity // that is recorded afterwards
	}{
		{"the same", by(old), scan.Options{}, "", old},
		{"without an identity", &folder{}, scan.Options{}, "", old},
		{"without a name", by(scan.Identity{}), scan.Options{}, "", old},
		{"another", by(other), scan.Options{}, "the resources of /releases/1, not those of /other", old},
		{"another, moved", by(other), scan.Options{Moved: true}, "", other},
		{"another, shared", by(other), scan.Options{Shared: true}, "", old},
		{"another target", by(next), scan.Options{}, `"/current" now points to /releases/2, which shares no resources with /releases/1`, old},
		{"recognized", linked{by(next), true, nil}, scan.Options{}, "", next},
		{"not recognized", linked{by(next), false, nil}, scan.Options{}, "shares no resources", old},
		{"recognized elsewhere", linked{by(other), true, nil}, scan.Options{}, "not those of /other", old},
		{"unknown", linked{by(next), false, lost}, scan.Options{}, lost.Error(), old},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRun(t)
				r.start(t, by(old))()
				opts := tt.options
				set, err := scan.Into(t.Context(), &r.store, "files", tt.origin, &opts)
				var refused *scan.OriginError
				switch {
				case tt.refused == "":
					must(t, err)
					_, err = set.Update(t.Context())
					must(t, err)
				case err == nil || !strings.Contains(err.Error(), tt.refused):
					t.Errorf("%v, want %q", err, tt.refused)
				case errors.As(err, &refused) == errors.Is(err, lost):
					t.Errorf("the error is a %T", err)
				case refused != nil && (refused.Recorded != old || refused.Origin != tt.origin.(scan.Identifier).Identity()):
					t.Errorf("%+v", refused)
				}
				if got, err := scan.Recorded(t.Context(), r.into); err != nil || got != tt.want {
					t.Errorf("recorded %+v, %v, want %+v", got, err, tt.want)
				}
			})
		})
	}
}

// TestOriginCorrected: a wrong origin can be corrected until a complete scan has ended, and what it had
// listed so far is not published.
func TestOriginCorrected(t *testing.T) {
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	into := func(name string, resources int, failed error) (*scan.Set, error) {
		return scan.Into(t.Context(), store, "a", boundAs{&bindable{resources: resources, failed: failed}, scan.Identity{Name: name}}, nil)
	}
	wrong, err := into("a wrong origin", 20, errors.New("404"))
	must(t, err)
	if _, err := wrong.Update(t.Context()); err == nil {
		t.Fatal("the scan of a wrong origin succeeded")
	}
	right, err := into("the right origin", 3, nil)
	must(t, err)
	_, err = right.Update(t.Context())
	must(t, err)
	if st, err := right.Stat(t.Context(), resourcesync.Range{}); err != nil || st.Count != 3 {
		t.Errorf("%d resources, %v, want 3", st.Count, err)
	}
	if _, err := into("a wrong origin", 0, nil); err == nil || !strings.Contains(err.Error(), "the resources of the right origin") {
		t.Errorf("after a complete scan: %v", err)
	}
}

// TestGivenByNobody: without a given name, a name that differs is another origin.
func TestGivenByNobody(t *testing.T) {
	r := newRun(t)
	r.join(t, named{&folder{}, scan.Identity{Name: "bucket papers"}})
	_, err := r.Update(t.Context())
	must(t, err)
	_, err = scan.Into(t.Context(), &r.store, "files", linked{named{&folder{}, scan.Identity{Name: "bucket maps"}}, true, nil}, nil)
	if refused, ok := errors.AsType[*scan.OriginError](err); !ok {
		t.Errorf("%v, %v", refused, err)
	}
}

// TestRecorded reads the records of older states.
func TestRecorded(t *testing.T) {
	for _, tt := range []struct {
		record string
		want   scan.Identity
		fails  bool
	}{
		{"", scan.Identity{}, false},
		{`{"given":"papers","real":"/srv/papers"}`, scan.Identity{Name: "/srv/papers", Given: "papers"}, false},
		{`{"given":"papers","real":"/srv/papers","base_url":"https://example.org/"}`, scan.Identity{Name: "/srv/papers", Given: "papers", URIs: "https://example.org/"}, false},
		{`{"given":"","real":"","base_url":"https://example.org/"}`, scan.Identity{Name: "https://example.org/", URIs: "https://example.org/"}, false},
		{`{"given":"","real":"","source":"table posts"}`, scan.Identity{Name: "table posts"}, false},
		{`{`, scan.Identity{}, true},
	} {
		set := memory.New(nil)
		must(t, set.SetOrigin(t.Context(), tt.record))
		if got, err := scan.Recorded(t.Context(), set); (err != nil) != tt.fails || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.record, got, err, tt.want)
		}
	}
}

// A fullStore has sets whose origin cannot be recorded as long as fails is set.
type fullStore struct {
	*memory.Store
	fails atomic.Pointer[error]
}

type fullSet struct {
	*memory.Set
	store *fullStore
}

func (s *fullStore) Set(ctx context.Context, name string, o *scan.SetOptions) (fullSet, error) {
	set, err := s.Store.Set(ctx, name, o)
	return fullSet{set, s}, err
}

func (s fullSet) SetOrigin(ctx context.Context, origin string) error {
	if err := s.store.fails.Load(); err != nil {
		return *err
	}
	return s.Set.SetOrigin(ctx, origin)
}

// TestIdentityCannotBeRecorded: no scan begins until the identity is recorded, and what is
// stored stays published.
func TestIdentityCannotBeRecorded(t *testing.T) {
	for _, filled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := folder{began: time.Now()}
			f.set(nil, "a", "b")
			var keys []string
			if filled {
				keys = []string{"a"}
			}
			r := newRun(t, keys...)
			r.join(t, &f) // for the options
			store, full := &fullStore{Store: &r.store}, errors.New("the disk is full")
			store.fails.Store(&full)
			set, err := scan.Into(t.Context(), store, "files", named{&f, scan.Identity{Name: "/srv"}}, &r.opts)
			must(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- set.Run(ctx) }()
			pass(4 * time.Minute)
			f.want(t, "")
			if err := set.Health(t.Context()); !errors.Is(err, full) || set.Ready() != filled {
				t.Errorf("Health: %v, ready: %t", err, set.Ready())
			}
			if _, err := set.Update(t.Context()); !errors.Is(err, full) {
				t.Errorf("Update: %v", err)
			}
			store.fails.Store(nil)
			pass(time.Minute)
			if err := set.Health(t.Context()); err != nil || r.into.Len() != 2 || !set.Ready() {
				t.Errorf("%v, %d files", err, r.into.Len())
			}
			f.want(t, "4m15s") // 5, 15, 35 s, 1 min 15 s, and then each minute
			if got, err := scan.Recorded(t.Context(), r.into); err != nil || got.Name != "/srv" {
				t.Errorf("recorded %+v, %v", got, err)
			}
			if lines := r.log.lines(); len(lines) < 2 || !strings.Contains(lines[0], "cannot record the origin") || lines[1] != `"origin of the set recorded"` {
				t.Errorf("logged\n%s", &r.log)
			}
			stop()
			must(t, <-ended)
		})
	}
}

// TestURIs: while the stored URIs follow from another base, the set is not ready. A scan that
// is interrupted leaves URIs of both.
func TestURIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := folder{takes: 10 * time.Second}
		f.set(nil, "a")
		r := newRun(t)
		step := func(uris string, before bool, takes time.Duration, after bool, recorded string) {
			t.Helper()
			stop := r.start(t, named{&f, scan.Identity{Name: "/srv", URIs: uris}})
			if got := r.isReady(t); got != before {
				t.Errorf("%s: ready before the scan: %t", uris, got)
			}
			pass(takes)
			if got := r.isReady(t); got != after {
				t.Errorf("%s: ready after %v: %t", uris, takes, got)
			}
			stop()
			if got, err := scan.Recorded(t.Context(), r.into); err != nil || got.Name != "/srv" || got.URIs != recorded {
				t.Errorf("%s: recorded %+v, %v", uris, got, err)
			}
		}
		const one, two = "https://example.org/1/", "https://example.org/2/"
		step(one, false, 11*time.Second, true, one)
		step(one, true, time.Second, true, one)
		step(two, false, 5*time.Second, false, "") // interrupted
		step(one, false, 5*time.Second, false, "")
		step(two, false, 11*time.Second, true, two)
		step("", true, time.Second, true, two) // says nothing of URIs
	})
}
