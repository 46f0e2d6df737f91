package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// mounted skips the test if err is not nil, except in CI.
func mounted(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		needs.Skip(t, "only root can mount a disk:", err)
	}
}

// mountTmpfs mounts a small disk and returns its path.
func mountTmpfs(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	mounted(t, syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m"))
	t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) })
	return folder
}

// TestDiskFull fills the disk under a store while its host writes. Reads continue, the
// problem is reported, and when there is space again the store continues by itself with
// all committed changes.
func TestDiskFull(t *testing.T) {
	folder := mountTmpfs(t)
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
	if _, err := store.sequence(t.Context()); err != nil {
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
	eventually(t, func() error {
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
	eventually(t, func() error { return awaitKey(t, set, "pending") })
	if err := record("after"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return awaitKey(t, set, "after") })
	eventually(t, func() error { return store.Health(t.Context()) })
	if got := articlesOf(t, set); !maps.Equal(got, want) {
		t.Errorf("the set has %v, but committed were %v", got, want)
	}
	source := new(front)
	source.lead(serve(t, set, stormPage))
	d := newDestination(t, source)
	if err := d.read(t.Context()); err != nil || len(d.articles) != len(want) || d.changes != len(want) {
		t.Errorf("a Destination has %v, %v", d.articles, err)
	}
}

// TestReadOnlyDisk: a store on a disk that cannot be written to is refused. When the
// disk is writable again, it is opened with all committed changes.
func TestReadOnlyDisk(t *testing.T) {
	folder := mountTmpfs(t)
	db := database(filepath.Join(folder, "state.db"))
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	refused := func() {
		t.Helper()
		remount(syscall.MS_RDONLY)
		_, closeStore, err := db.connect(t.Context(), nil)
		if err == nil {
			closeStore()
			t.Error("a store was opened")
		} else if !errors.Is(err, syscall.EROFS) {
			t.Errorf("refused by %v", err)
		}
		remount(0)
	}
	refused() // there is nothing yet
	child := startChild(t, db, "storm")
	host := newWriter(t, db)
	eventually(t, func() error {
		if n, err := host.changes(t.Context()); err != nil || n == 0 {
			return fmt.Errorf("%d changes, %w", n, err)
		}
		return nil
	})
	host.db.Close()
	child.kill()
	refused() // what there is has been left in a hurry
	for range 2 {
		store, closeStore, err := db.connect(t.Context(), &Options{Window: stormWindow})
		if err != nil {
			t.Fatal(err)
		}
		set := store.mustSet(t, "articles", nil)
		if _, err := store.sequence(t.Context()); err != nil {
			t.Fatal(err)
		}
		source := new(front)
		source.lead(serve(t, set, stormPage))
		d := newDestination(t, source)
		if err := d.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		host := newWriter(t, db)
		if err := d.compare(t.Context(), host); err != nil {
			t.Error(err)
		}
		host.db.Close()
		closeStore()
		refused() // and this in good order
	}
}

// TestDiskTurnsReadOnly has a disk that the system stops writing to while a store is
// open, as it does after a disk error. (A remount is refused while files are open for
// writing.) Reads continue, the problem is reported, and when the disk has been
// repaired, all committed changes are there.
func TestDiskTurnsReadOnly(t *testing.T) {
	image, folder := filepath.Join(t.TempDir(), "image"), t.TempDir()
	mount := func() error {
		out, err := exec.Command("mount", "-o", "loop", image, folder).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	unmount := func() error { return syscall.Unmount(folder, 0) }
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, 32<<20)
	}
	if err == nil {
		err = exec.Command("mkfs.ext4", "-q", image).Run()
	}
	if err == nil {
		err = mount()
	}
	mounted(t, err)
	t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) })

	db := database(filepath.Join(folder, "state.db"))
	store, closeStore, err := db.connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	set := store.mustSet(t, "articles", nil)
	host := newWriter(t, db)
	record := func(key string) error {
		return host.transaction(t.Context(), func(tx *sql.Tx) error {
			return set.Record(t.Context(), SQLTx(tx), change(resourcesync.Created, key, 1))
		})
	}
	if err := record("sequenced"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.sequence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := record("pending"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT, "abort"); err != nil {
		t.Fatal(err)
	}
	if err := record("refused"); err == nil {
		t.Error("a host has written to the disk")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- store.Run(ctx) }()
	eventually(t, func() error {
		if err := store.Health(t.Context()); !errors.Is(err, syscall.EROFS) {
			return fmt.Errorf("health: %w", err)
		}
		return nil
	})
	source := new(front)
	source.lead(serve(t, set, stormPage))
	d := newDestination(t, source)
	if err := d.read(t.Context()); err != nil || d.changes != 1 {
		t.Errorf("read %d changes, %v", d.changes, err)
	}
	if got := articlesOf(t, set); len(got) != 1 {
		t.Errorf("the set has %v", got)
	}
	cancel()
	<-ended
	host.db.Close()
	closeStore()

	if err := errors.Join(unmount(), mount()); err != nil {
		t.Fatal(err)
	}
	store = db.open(t, nil)
	t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) })
	set = store.mustSet(t, "articles", nil)
	run(t, store)
	source.lead(serve(t, set, stormPage))
	host = newWriter(t, db)
	if err := record("after"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return awaitKey(t, set, "after") })
	if err := d.read(t.Context()); err != nil || d.changes != 3 {
		t.Errorf("read %d changes, %v", d.changes, err)
	}
	if got := slices.Sorted(maps.Keys(articlesOf(t, set))); !slices.Equal(got, []string{"after", "pending", "sequenced"}) {
		t.Errorf("the set has %v", got)
	}
}

// fill writes a file until the disk is full.
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
