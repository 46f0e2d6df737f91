package sqltable

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

var parts = regexp.MustCompile(`<loc>https://example\.org(/papers/resourcelist/[^<]+)</loc>`)

// TestReplicas: replicas that have seen different states of a table, or have just started,
// give the same documents with the same entity tags, whether the table and its journal are
// one value or two.
func TestReplicas(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, title {text})")
		table := Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"}
		store := d.store()
		_, err := d.provider(table).Journal(t.Context(), store, "papers", nil)
		must(t, err)
		const n, every = 500, 20
		must(t, d.all("INSERT INTO papers VALUES ($1, 'a')", n, func(i int) []any { return []any{100 * i} }))
		d.numbered(store)
		replica := func(values int) http.Handler {
			t.Helper()
			set := rshttp.Set{Name: "papers"}
			if values == 1 {
				set.Provider, err = d.provider(table).Journal(t.Context(), store, "papers", nil)
				must(t, err)
			} else {
				set.Provider = d.provider(table)
				set.Changer, err = store.Journal(t.Context(), "papers")
				must(t, err)
			}
			src, err := rshttp.New("https://example.org/", []rshttp.Set{set}, &rshttp.Options{Division: rshttp.Division{PageSize: every}})
			must(t, err)
			return src
		}
		get := func(h http.Handler, path string) string {
			t.Helper()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d", path, w.Code)
			}
			return w.Header().Get("ETag") + "\n" + w.Body.String()
		}
		const index = "/papers/resourcelist.xml"
		// current is the index of the newest state. A request finds an earlier division
		// until the pause after it ends.
		current := func(h http.Handler) (got string) {
			t.Helper()
			var newest time.Time
			d.rows("SELECT last FROM rs_set WHERE name = 'papers'", func(r rowdb.Row) error { newest = time.UnixMicro(r.Int(0)).UTC(); return nil })
			at := regexp.MustCompile(`at="` + regexp.QuoteMeta(newest.Format("2006-01-02T15:04:05.999999Z")) + `"`)
			for deadline := time.Now().Add(needs.Patience); ; time.Sleep(time.Millisecond) {
				if got = get(h, index); at.MatchString(got) {
					return got
				}
				if time.Now().After(deadline) {
					t.Fatalf("the index does not show %s:\n%s", at, got)
				}
			}
		}
		steady, rare := replica(1), replica(2)
		current(steady)
		current(rare)
		rnd := rand.New(rand.NewPCG(1, 2))
		for round := range 12 {
			first := 100 * rnd.IntN(n)
			if round%3 == 2 {
				must(t, d.all("DELETE FROM papers WHERE id BETWEEN $1 AND $2", 1, func(int) []any { return []any{first, first + 3000} }))
			} else {
				must(t, d.all("INSERT INTO papers VALUES ($1, 'b') ON CONFLICT (id) DO NOTHING", 2*every, func(int) []any { return []any{first + rnd.IntN(3000)} }))
			}
			d.numbered(store)
			want := current(steady)
			if round%4 != 3 {
				continue // the other one does not see this state
			}
			for name, other := range map[string]http.Handler{"seldom asked": rare, "just started": replica(1), "just started, two values": replica(2)} {
				if got := current(other); got != want {
					t.Fatalf("round %d, %s: \n%s\ninstead of\n%s", round, name, got, want)
				}
				for i, m := range parts.FindAllStringSubmatch(want, -1) {
					if i%5 == 0 && get(other, m[1]) != get(steady, m[1]) {
						t.Errorf("round %d, %s: %s differs", round, name, m[1])
					}
				}
			}
			if len(parts.FindAllString(want, -1)) < 10 {
				t.Fatalf("only a few pages:\n%s", want)
			}
		}
	})
}
