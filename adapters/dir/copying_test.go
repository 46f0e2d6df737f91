package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// A keeper makes copies in memory.
type keeper struct {
	mu       sync.Mutex
	kept     map[string]string // by digest
	open     int
	writeErr error
	keepErr  error
}

type memoryCopy struct {
	*keeper
	text strings.Builder
}

func (k *keeper) begin() (Copy, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open++
	return &memoryCopy{keeper: k}, nil
}

func (c *memoryCopy) Write(p []byte) (int, error) {
	c.text.Write(p)
	return len(p), c.writeErr
}

func (c *memoryCopy) Keep(hashes []resourcesync.Hash) error {
	c.Discard()
	if c.keepErr == nil {
		c.kept[hashes[0].Digest] = c.text.String()
	}
	return c.keepErr
}

func (c *memoryCopy) Discard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

// TestCopies checks that exactly the versions that a scan yields as changes are copied.
func TestCopies(t *testing.T) {
	here := t.TempDir()
	large := strings.Repeat("large", bufferSize)
	write(t, here, "a", "one")
	write(t, here, "large", large)
	write(t, here, "empty", "")
	k := &keeper{kept: map[string]string{}}
	d := openDir(t, here, &Options{Keep: k.begin, Concurrency: 1})
	var m memory
	check := func(contents ...string) {
		t.Helper()
		m.rescan(t, d)
		if len(k.kept) != len(contents) || k.open != 0 {
			t.Errorf("%d copies, %d unfinished", len(k.kept), k.open)
		}
		for _, r := range m {
			if content, ok := k.kept[r.Hashes[0].Digest]; ok {
				if n, _ := r.Length.Bytes(); n != int64(len(content)) {
					t.Errorf("%s has %d bytes, its copy %d", r.Key, n, len(content))
				}
			}
		}
		clear(k.kept)
	}
	check("one", large, "")
	check()
	r := m["a"]
	r.Stamp = "of the same version"
	m["a"] = r
	check()
	write(t, here, "a", "two")
	check("two")
}

// TestCopiesFail checks that a version that cannot be copied is not reported before it
// is copied, and that all others are.
func TestCopiesFail(t *testing.T) {
	full := fmt.Errorf("the disk is full: %w", fs.ErrPermission)
	for _, name := range []string{"beginning", "writing", "keeping"} {
		here := t.TempDir()
		manyFiles(t, here, 20)
		k := &keeper{kept: map[string]string{}}
		d := openDir(t, here, &Options{Keep: k.begin, Concurrency: 1})
		var m memory
		m.rescan(t, d)
		for i := range 5 {
			write(t, here, fmt.Sprintf("new %d", i), strings.Repeat("new", i))
		}
		clear(k.kept)
		switch left := 2; name {
		case "beginning":
			d.keep = func() (Copy, error) {
				if left--; left < 0 {
					var none *memoryCopy
					return none, full
				}
				return k.begin()
			}
		case "writing":
			k.writeErr = full // of all but the empty one
		case "keeping":
			k.keepErr = full
		}
		d.known = m.lookup
		yielded, err := list(t, d)
		if !errors.Is(err, full) || k.open != 0 {
			t.Errorf("%s: %v, %d copies unfinished", name, err, k.open)
		}
		changes := 0
		for _, r := range yielded {
			if m[r.Key].Equal(r) {
				continue
			}
			changes++
			if _, ok := k.kept[r.Hashes[0].Digest]; !ok {
				t.Errorf("%s: %s is reported without a copy", name, r.Key)
			}
		}
		if changes != len(k.kept) || changes >= 5 || len(yielded) != 20+changes {
			t.Errorf("%s: %d files and %d changes, %d copies", name, len(yielded), changes, len(k.kept))
		}
		d.keep, k.writeErr, k.keepErr = k.begin, nil, nil
		m.rescan(t, d)
		if len(k.kept) != 5 || len(m) != 25 {
			t.Errorf("%s: afterwards %d copies of %d files", name, len(k.kept), len(m))
		}
	}
}

// TestCopiesBreakOff checks that a scan that ends early leaves nothing behind.
func TestCopiesBreakOff(t *testing.T) {
	here := t.TempDir()
	manyFiles(t, here, 50)
	k := &keeper{kept: map[string]string{}}
	d := openDir(t, here, &Options{Keep: k.begin, Concurrency: 1})
	for range d.Resources(t.Context()) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range d.Resources(ctx) {
	}
	if k.open != 0 {
		t.Errorf("%d copies unfinished", k.open)
	}
}
