//go:build linux

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestDiskFull fills the disk under a store while its host writes. Reads go on,
// what is wrong is said, and when there is space again it goes on by itself with
// all that was committed.
func TestDiskFull(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) })
	db := database(filepath.Join(folder, "state.db"))
	store := db.open(t, nil)
	set := store.mustSet(t, "articles", nil)
	host := newWriter(t, db)
	want := map[string]string{}
	record := func(key string) error {
		c := change(resourcesync.Created, key, 1)
		err := host.transaction(t.Context(), func(tx *sql.Tx) error { return set.Record(t.Context(), SQLTx(tx), c) })
		if err == nil {
			want[key] = c.Resource.Type
		}
		return err
	}
	if err := record("before"); err != nil {
		t.Fatal(err)
	}
	if err := store.sequence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := record("pending"); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(folder, "ballast")
	if err := fill(ballast); err != nil {
		t.Fatal(err)
	}
	run(t, store)
	eventually(t, 10*time.Second, func() error {
		if err := store.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "full") {
			return context.DeadlineExceeded
		}
		return nil
	})
	for i := range 20 {
		record(strings.Repeat("refused", i+1))
	}
	if got := articlesOf(t, set); len(got) != 1 {
		t.Errorf("the set has %v", got)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func() error { return awaitKey(t, set, "pending") })
	if err := record("after"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() error { return awaitKey(t, set, "after") })
	eventually(t, 10*time.Second, func() error { return store.Health(t.Context()) })
	if got := articlesOf(t, set); !maps.Equal(got, want) {
		t.Errorf("the set has %v, but committed were %v", got, want)
	}
	var r replica
	if err := r.read(t.Context(), set); err != nil || !maps.Equal(r.articles, want) {
		t.Errorf("a replica has %v, %v", r.articles, err)
	}
}

// fill writes a file until there is no more space.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	return err
}
