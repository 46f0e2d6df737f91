package sqlstore

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestReplicas serves a set with three processes. They serve the same documents, to the
// byte and with the same validators, and continue when any of them dies.
func TestReplicas(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	store := db.open(t, nil)
	set := store.mustSet(t, "articles", nil)
	host := newWriter(t, db)
	record := func(key string, change resourcesync.ChangeType) {
		t.Helper()
		err := host.transaction(t.Context(), func(tx *sql.Tx) error {
			return set.Record(t.Context(), SQLTx(tx), resourcesync.Change{Type: change, Resource: resourcesync.Resource{
				Key: key, URI: "https://example.org/articles/" + key}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	var replicas []*process
	for range 3 {
		replicas = append(replicas, startChild(t, db, "serve"))
	}
	began := time.Now()
	for i := range 55 {
		record(fmt.Sprintf("%03d", i), resourcesync.Created)
	}
	eventually(t, func() error { return awaitKey(t, set, "054") })
	ordinary := time.Since(began)
	for n := 0; ; n++ {
		record(fmt.Sprintf("%03d", n), resourcesync.Updated)
		newest := fmt.Sprintf("after-%d-deaths", n)
		record(newest, resourcesync.Created)
		// The sequencer may have died just now.
		awaitTakeover(t, set, newest, ordinary)
		eventually(t, func() error { return sameDocuments(t, replicas) })
		if len(replicas) == 1 {
			break
		}
		replicas[0].kill()
		replicas = replicas[1:]
	}
}

func awaitKey(t *testing.T, set *Set, key string) error {
	_, found, err := set.Get(t.Context(), key)
	if err == nil && !found {
		err = fmt.Errorf("%s is not visible", key)
	}
	return err
}

var hrefs = regexp.MustCompile(`<loc>https://example\.org(/resourcesync/[^<]+)</loc>`)

// sameDocuments returns an error for a document in which the replicas differ, or if
// there is no index yet.
func sameDocuments(t *testing.T, replicas []*process) error {
	seen := map[string]bool{}
	todo := []string{"/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml", "/resourcesync/capabilitylist.xml"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		first := ""
		for i, r := range replicas {
			res, err := http.Get("http://" + r.first + path)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil {
				return err
			}
			if res.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s", path, res.Status)
			}
			got := res.Header.Get("ETag") + "\n" + string(body)
			switch {
			case i == 0:
				first = got
				for _, match := range hrefs.FindAllStringSubmatch(first, -1) {
					todo = append(todo, match[1])
				}
			case got != first:
				return fmt.Errorf("%s: replica %d gives\n%s\nand the first\n%s", path, i, got, first)
			}
		}
	}
	if len(seen) < 8 {
		return fmt.Errorf("only %d documents", len(seen))
	}
	return nil
}
