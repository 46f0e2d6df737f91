package dir

import (
	"context"
	"errors"
	"log/slog"
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

// TestCopies holds that every version that a scan yields as a change is copied,
// and nothing else.
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

// TestCopiesFail holds that a scan goes on when copies cannot be made, and says
// so once.
func TestCopiesFail(t *testing.T) {
	full := errors.New("the disk is full")
	for name, k := range map[string]*keeper{"writing": {writeErr: full}, "keeping": {keepErr: full}} {
		here := t.TempDir()
		manyFiles(t, here, 20)
		var log logbook
		d := openDir(t, here, &Options{Keep: k.begin, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if found := complete(t, d); len(found) != 20 {
			t.Errorf("%s: %d files found", name, len(found))
		}
		if n := strings.Count(log.buf.String(), "the disk is full"); n != 1 || k.open != 0 {
			t.Errorf("%s: logged %d times, %d copies unfinished", name, n, k.open)
		}
		d.keep = func() (Copy, error) { return nil, full }
		if found := complete(t, d); len(found) != 20 {
			t.Errorf("%s: %d files found", name, len(found))
		}
	}
}

// TestCopiesBreakOff holds that a scan that ends early leaves nothing behind.
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
