package static

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A remote Store is in memory, and as slow as takes says.
type remote struct {
	takes func(name string) time.Duration // a write
	wrote func(name string)

	mu    sync.Mutex
	files map[string][]byte
	busy  int  // writes in progress
	late  bool // there were some when a session ended
}

const request = 50 * time.Millisecond // takes any other request but a removal

func stampOfText(text []byte) Stamp {
	return Stamp{Size: int64(len(text)), ETag: fmt.Sprintf("%x", sha256.Sum256(text))}
}

func (r *remote) Lock(context.Context, string) error { return nil }

func (r *remote) Unlock(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = r.late || r.busy > 0
	return nil
}

// isLate reports whether a file was written after the session of its writer.
func (r *remote) isLate() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late
}

func (r *remote) HasHeaders() bool { return true }

// Stat takes no time: a Store has the listings of its folders.
func (r *remote) Stat(_ context.Context, name string) (Stamp, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, found := r.files[name]
	if !found {
		return Stamp{}, fs.ErrNotExist
	}
	return stampOfText(text), nil
}

func (r *remote) Read(ctx context.Context, name string) ([]byte, Stamp, error) {
	time.Sleep(request)
	now, err := r.Stat(ctx, name)
	return []byte(r.text(name)), now, err
}

func (r *remote) Compare(ctx context.Context, name string, c Content) (Stamp, bool, error) {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return Stamp{}, false, err
	}
	text, now, err := r.Read(ctx, name)
	return now, bytes.Equal(text, b.Bytes()), err
}

func (r *remote) Write(ctx context.Context, name string, c Content, was Stamp) (Stamp, error) {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return Stamp{}, err
	}
	r.mu.Lock()
	r.busy++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.busy--
		r.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		time.Sleep(request)
		return Stamp{}, ctx.Err()
	case <-time.After(r.takes(name)):
	}
	r.mu.Lock()
	now, found := r.files[name]
	if found != (was != Stamp{}) || found && stampOfText(now) != was {
		r.mu.Unlock()
		return Stamp{}, ErrChanged
	}
	r.files[name] = b.Bytes()
	r.mu.Unlock()
	r.wrote(name)
	return stampOfText(b.Bytes()), nil
}

func (r *remote) Remove(_ context.Context, name string) (bool, error) {
	time.Sleep(time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, found := r.files[name]
	delete(r.files, name)
	return found, nil
}

func (r *remote) Files(_ context.Context, folder string) iter.Seq2[string, error] {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name := range r.files {
		if path.Dir(name) == folder {
			names = append(names, path.Base(name))
		}
	}
	return func(yield func(string, error) bool) {
		time.Sleep(request)
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

func (r *remote) text(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.files[name])
}

// newest returns the largest number n of a type text/n-N in the Change List of a set, or -1.
func (r *remote) newest(set string) int {
	text := r.text("rs/" + set + "/changelist.xml")
	if i := strings.LastIndex(text, "/changelist/2"); i >= 0 { // it is an index
		from := strings.LastIndex(text[:i], "/rs/") + 1
		name, _, _ := strings.Cut(text[from:], "<")
		text = r.text(name)
	}
	newest := -1
	for {
		_, after, found := strings.Cut(text, "text/n-")
		if !found {
			return newest
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n, _ := strconv.Atoi(after[:digits])
		newest, text = max(newest, n), after
	}
}
