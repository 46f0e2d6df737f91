package rshttp_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A crawler is a Destination that reads everything a Source has, and checks it against
// the specification: documents are decoded strictly, which includes the mandatory
// attributes of Appendix A, and every link must lead somewhere.
type crawler struct {
	t    *testing.T
	url  string // scheme and host of the Source
	docs map[string]bool

	listed  map[string]int      // resources by URI, how often
	packed  map[string]int      // those in packages of Resource Dumps
	dumped  []change            // those in packages of Change Dumps
	changes map[string][]change // by Capability List
	emitted func(doc []byte, index bool)
	skip    resourcesync.Capability // documents not to read
}

type change struct {
	what resourcesync.ChangeType
	uri  string
	at   time.Time
}

// errGone means that a page outgrew its range during the crawl, which a Source may
// report: the crawl starts over at the index.
var errGone = errors.New("410")

// serve starts a server for sets and returns a crawler of it.
func serve(t *testing.T, opts *rshttp.Options, sets ...rshttp.Set) *crawler {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	origin := "http://" + srv.Listener.Addr().String()
	if opts == nil {
		opts = &rshttp.Options{}
	}
	opts.Logger = quiet()
	src, err := rshttp.New(origin+"/rs/", sets, opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Config.Handler = src
	srv.Start()
	t.Cleanup(srv.Close)
	return &crawler{t: t, url: origin}
}

// crawl reads everything. It reports errGone if a page was.
func (c *crawler) crawl() error {
	c.docs, c.listed, c.packed, c.dumped, c.changes = map[string]bool{}, map[string]int{}, map[string]int{}, nil, map[string][]change{}
	return c.read(c.url+wellknown.Path, resourcesync.Description, "", "")
}

// read reads the document at uri, which must have the capability want and link to its
// parent, and to its index if it is part of one. Then it reads the documents that it
// links to.
func (c *crawler) read(uri string, want resourcesync.Capability, up, index string) error {
	if c.docs[uri] {
		c.t.Errorf("%s is led to twice", uri)
	}
	c.docs[uri] = true
	res, err := http.Get(uri)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusGone {
		if !strings.Contains(res.Header.Get("Link"), `rel="index"`) {
			c.t.Errorf("%s: 410 without a link to the index", uri)
		}
		return errGone
	}
	if res.StatusCode != 200 {
		return fmt.Errorf("%s: %s", uri, res.Status)
	}
	body := text(c.t, res)
	if c.emitted != nil {
		c.emitted([]byte(body), strings.Contains(body, "<sitemapindex"))
	}
	head, entries, err := rsxml.Decode(strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", uri, err)
	}
	if head.Metadata.Capability != want {
		c.t.Errorf("%s has capability %q, want %q", uri, head.Metadata.Capability, want)
	}
	for rel, href := range map[string]string{resourcesync.RelUp: up, resourcesync.RelIndex: index} {
		if got := linked(head.Links, rel); got != href {
			c.t.Errorf("%s: link %q to %q, want %q", uri, rel, got, href)
		}
	}
	next := head.Metadata.From
	for _, e := range entries {
		switch {
		case head.Index:
			if want == resourcesync.ChangeList {
				if !e.Metadata.From.Equal(next) {
					c.t.Errorf("%s: window from %v after one until %v", uri, e.Metadata.From, next)
				}
				next = e.Metadata.Until
			}
			err = c.read(e.Loc, want, up, uri)
		case want == resourcesync.Description:
			err = c.read(e.Loc, resourcesync.CapabilityList, c.url+wellknown.Path, "")
		case e.Metadata.Capability != "" && e.Metadata.Capability == c.skip:
		case want == resourcesync.CapabilityList:
			err = c.read(e.Loc, e.Metadata.Capability, uri, "")
		case want == resourcesync.ResourceList:
			c.listed[e.Loc]++
		case want == resourcesync.ResourceDump:
			err = c.readPackage(e, resourcesync.ResourceDumpManifest, up)
		case want == resourcesync.ChangeDump:
			if !e.Metadata.From.Equal(next) {
				c.t.Errorf("%s: package from %v after one until %v", uri, e.Metadata.From, next)
			}
			next = e.Metadata.Until
			err = c.readPackage(e, resourcesync.ChangeDumpManifest, up)
		case want == resourcesync.ChangeList:
			c.changes[up] = append(c.changes[up], change{e.Metadata.Change, e.Loc, e.Metadata.Datetime})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readPackage reads the package of e and its manifest, which must have the capability
// want and be identical to the one inside.
func (c *crawler) readPackage(e rsxml.Entry, want resourcesync.Capability, up string) error {
	contents := linked(e.Links, resourcesync.RelContents)
	if err := c.read(contents, want, up, ""); err != nil {
		return err
	}
	res, err := http.Get(e.Loc)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		return fmt.Errorf("%s: %s", e.Loc, res.Status)
	}
	body := text(c.t, res)
	if length, _ := e.Metadata.Length.Bytes(); length != int64(len(body)) {
		c.t.Errorf("%s has %d bytes, %d stated", e.Loc, len(body), length)
	}
	z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		return fmt.Errorf("%s: %w", e.Loc, err)
	}
	inside, err := fs.ReadFile(z, "manifest.xml")
	if err != nil {
		return fmt.Errorf("%s: %w", e.Loc, err)
	}
	outside, err := http.Get(contents)
	if err != nil {
		return err
	}
	defer outside.Body.Close()
	if text(c.t, outside) != string(inside) {
		c.t.Errorf("%s is not the manifest in %s", contents, e.Loc)
	}
	_, entries, err := rsxml.Decode(bytes.NewReader(inside))
	if err != nil {
		return fmt.Errorf("%s: %w", e.Loc, err)
	}
	for _, m := range entries {
		if want == resourcesync.ChangeDumpManifest {
			c.dumped = append(c.dumped, change{m.Metadata.Change, m.Loc, m.Metadata.Datetime})
		}
		if m.Metadata.Path == "" {
			continue // it has been deleted
		}
		// Paths in a manifest begin at the root of the package.
		content, err := fs.ReadFile(z, strings.TrimPrefix(m.Metadata.Path, "/"))
		sum := sha256.Sum256(content)
		if err != nil || m.Metadata.Hashes[0].Digest != hex.EncodeToString(sum[:]) {
			c.t.Errorf("%s: %s is not %s: %v", e.Loc, m.Metadata.Path, m.Loc, err)
		}
		if want == resourcesync.ResourceDumpManifest {
			c.packed[m.Loc]++
		}
	}
	return nil
}

func linked(links []resourcesync.Link, rel string) string {
	for _, l := range links {
		if l.Rel == rel {
			return l.Href
		}
	}
	return ""
}

// must crawls until no page is gone.
func (c *crawler) must() {
	c.t.Helper()
	for range 100 {
		err := c.crawl()
		if err == nil {
			return
		}
		if !errors.Is(err, errGone) {
			c.t.Fatal(err)
		}
	}
	c.t.Fatal("pages are gone again and again")
}

func TestCrawl(t *testing.T) {
	for _, tt := range []struct {
		resources, pageSize int
	}{{0, 10}, {1, 10}, {10, 10}, {11, 10}, {1000, 7}} {
		for _, provider := range []string{"plain", "memory"} {
			t.Run(fmt.Sprintf("%s/%d by %d", provider, tt.resources, tt.pageSize), func(t *testing.T) {
				plain := tableOf(tt.resources)
				p := resourcesync.Provider(plain)
				if provider == "memory" {
					set := memory.New(nil)
					for _, r := range plain.resources {
						if err := set.Put(t.Context(), r); err != nil {
							t.Fatal(err)
						}
					}
					p = set
				}
				c := serve(t, &rshttp.Options{Division: rshttp.Division{PageSize: tt.pageSize}}, rshttp.Set{Name: "a", Provider: p}, rshttp.Set{Name: "b", Provider: tableOf(1), DescribedBy: "http://example.org/b"})
				if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
					c.emitted = validate(t, filepath.Join(shared, "schema"))
				}
				c.must()
				if len(c.listed) != max(tt.resources, 1) {
					t.Errorf("%d resources listed", len(c.listed))
				}
				for uri, n := range c.listed {
					if n != 1 && uri != "https://example.org/papers/000000" { // in both sets
						t.Errorf("%s is listed %d times", uri, n)
					}
				}
				replica := map[string]bool{}
				var last time.Time
				for _, ch := range c.changes[c.url+"/rs/a/capabilitylist.xml"] {
					if !ch.at.After(last) {
						t.Errorf("a change at %v after one at %v", ch.at, last)
					}
					last = ch.at
					replica[ch.uri] = ch.what != resourcesync.Deleted
				}
				if provider == "memory" && len(replica) != tt.resources {
					t.Errorf("the Change Lists make %d resources", len(replica))
				}
			})
		}
	}
}

// TestCrawlDumps crawls everything of sets that have the bytes of their
// resources.
func TestCrawlDumps(t *testing.T) {
	for _, resources := range []int{0, 1, 500} {
		t.Run(fmt.Sprint(resources), func(t *testing.T) {
			s := shelfOf(t, resources, 50)
			c := serve(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 1000, PageSize: 100}}, rshttp.Set{Name: "a", Provider: s}, rshttp.Set{Name: "b", Provider: bare{s}})
			if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
				c.emitted = validate(t, filepath.Join(shared, "schema"))
			}
			c.must()
			if len(c.packed) != resources {
				t.Errorf("%d resources in packages", len(c.packed))
			}
			for uri, n := range c.packed {
				if n != 2 || c.listed[uri] != 2 { // once for each set
					t.Errorf("%s is in %d packages and %d lists", uri, n, c.listed[uri])
				}
			}
		})
	}
}

// TestCrawlChangeDump crawls the dumps of a set with a history. The packages hold the
// changes of the Change Lists, in the same order.
func TestCrawlChangeDump(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for _, changes := range []int{0, 1, 300} {
		t.Run(fmt.Sprint(changes), func(t *testing.T) {
			s := newShelf(t)
			for i := range changes {
				if key := fmt.Sprint(rnd.IntN(50)); rnd.IntN(4) == 0 {
					if err := s.Delete(t.Context(), key); err != nil {
						t.Error(err)
					}
				} else {
					s.put(key, noise(uint32(i), rnd.IntN(500)))
				}
			}
			seal(t, s.Set)
			c := serve(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 3000, PageSize: 40}}, rshttp.Set{Provider: history{s}})
			if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
				c.emitted = validate(t, filepath.Join(shared, "schema"))
			}
			c.must()
			listed := c.changes[c.url+"/rs/capabilitylist.xml"]
			if !slices.EqualFunc(listed, c.dumped, func(a, b change) bool { return a.what == b.what && a.uri == b.uri && a.at.Equal(b.at) }) {
				t.Errorf("%d changes in the lists, %d in the dump", len(listed), len(c.dumped))
			}
		})
	}
}

// validate returns a check of documents against the schemas.
func validate(t *testing.T, schemas string) func([]byte, bool) {
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Fatal("RESOURCESYNC_SHARED is set, but there is no xmllint to validate with")
	}
	return func(doc []byte, index bool) {
		if !strings.Contains(string(doc), "<loc>") {
			return // legal in the specification, not in the schema
		}
		schema := "joint-urlset-local-1.1.xsd"
		if index {
			schema = "joint-sitemapindex-local-1.1.xsd"
		}
		cmd := exec.Command("xmllint", "--nonet", "--noout", "--schema", filepath.Join(schemas, schema), "-")
		cmd.Stdin = strings.NewReader(string(doc))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, doc)
		}
	}
}

// TestCrawlUnderWrites crawls while the set is written to. A resource that exists
// throughout a crawl is listed exactly once in it, regardless of others that come and
// go, with and without division in the background. A replica that reads the Change
// Lists from the last datetime it saw ends up equal.
func TestCrawlUnderWrites(t *testing.T) {
	for seed := range uint64(needs.Size(2, 4)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 3))
			set := memory.New(nil)
			put := func(key string) {
				r := resource(key)
				r.Length = resourcesync.Bytes(rnd.Int64())
				if err := set.Put(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
			stays := map[string]bool{}
			for range 300 {
				key := fmt.Sprintf("%03d-stays", rnd.IntN(1000))
				stays["https://example.org/"+key] = true
				put(key)
			}
			c := serve(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}}, rshttp.Set{Provider: set})

			ctx, cancel := context.WithCancel(t.Context())
			var writer sync.WaitGroup
			writer.Go(func() {
				for ctx.Err() == nil {
					// Writes move around, so that pages fill up and empty.
					around := rnd.IntN(1000)
					for range rnd.IntN(15) {
						key := fmt.Sprintf("%03d-goes-%02d", around, rnd.IntN(99))
						switch rnd.IntN(5) {
						case 0, 1:
							put(key)
						case 2:
							put(strings.TrimPrefix(pick(rnd, stays), "https://example.org/"))
						default:
							if err := set.Delete(t.Context(), key); err != nil {
								t.Error(err)
							}
						}
					}
					time.Sleep(2 * time.Millisecond) // let readers in: they are what is tested
				}
			})
			c.skip = resourcesync.ChangeList
			crawls := needs.Size(8, 15)
			if raceEnabled {
				crawls = 4
			}
			for range crawls {
				c.must()
				for uri, n := range c.listed {
					if n != 1 {
						t.Errorf("%s is listed %d times", uri, n)
					}
				}
				for uri := range stays {
					if c.listed[uri] != 1 {
						t.Errorf("%s, which stays, is listed %d times", uri, c.listed[uri])
					}
				}
			}
			cancel()
			writer.Wait()

			c.skip = ""
			c.must()
			replica := map[string]bool{}
			for _, ch := range c.changes[c.url+"/rs/capabilitylist.xml"] {
				if ch.what == resourcesync.Deleted {
					delete(replica, ch.uri)
				} else {
					replica[ch.uri] = true
				}
			}
			for uri := range c.listed {
				if !replica[uri] {
					t.Errorf("%s is in the Resource List but not in the replica", uri)
				}
			}
			if len(replica) != len(c.listed) {
				t.Errorf("the replica has %d resources, the set %d", len(replica), len(c.listed))
			}
		})
	}
}

func pick(rnd *rand.Rand, from map[string]bool) string {
	n := rnd.IntN(len(from))
	for uri := range maps.Keys(from) {
		if n--; n < 0 {
			return uri
		}
	}
	panic("empty")
}
