package static

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/gofrs/flock"
)

const (
	lockName = ".static.lock"

	// tempName is the name of a file that is being written, in the folder of the one that
	// it replaces. A folder has one at a time.
	tempName = ".static.tmp"

	bufferSize = 256 << 10
)

// OwnFiles returns the names of the files in which [Write] keeps its own records. They are in
// the folder of the base URL.
func OwnFiles() []string { return []string{recordName, lockName, tempName} }

// A tree is the [Store] of a folder.
type tree struct {
	root    *os.Root
	lock    *flock.Flock
	changed func()   // after each change, or nil
	writing sync.Map // of *sync.Mutex, by folder, for its file tempName
}

// openTree opens the folder out. It creates the folder if it does not exist.
func openTree(out string, changed func()) (*tree, error) {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(out)
	if err != nil {
		return nil, err
	}
	return &tree{root: root, changed: changed}, nil
}

func (t *tree) close() { t.root.Close() }

// Lock implements [Store].
func (t *tree) Lock(_ context.Context, name string) error {
	if err := t.makeFolder(path.Dir(name)); err != nil {
		return err
	}
	t.lock = flock.New(filepath.Join(t.root.Name(), filepath.FromSlash(name)))
	free, err := t.lock.TryLock()
	if err == nil && !free {
		err = ErrLocked
	}
	return err
}

// Unlock implements [Store].
func (t *tree) Unlock(context.Context) error { return t.lock.Close() }

// HasHeaders implements [Store].
func (t *tree) HasHeaders() bool { return false }

// makeFolder creates a folder with those above it, and writes their names to disk.
func (t *tree) makeFolder(folder string) error {
	if _, err := t.root.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.root.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for folder != "." {
		folder = path.Dir(folder)
		if err := t.syncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// syncFolder writes the names in a folder to disk. Windows does that itself.
func (t *tree) syncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := t.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Stat implements [Store].
func (t *tree) Stat(_ context.Context, name string) (Stamp, error) {
	info, err := t.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file, but has the name of a document", name)
	}
	if err != nil {
		return Stamp{}, err
	}
	return stampOf(info), nil
}

func stampOf(info fs.FileInfo) Stamp {
	return Stamp{Size: info.Size(), Modified: info.ModTime().UnixNano()}
}

// Read implements [Store].
func (t *tree) Read(ctx context.Context, name string) ([]byte, Stamp, error) {
	now, err := t.Stat(ctx, name)
	if err != nil {
		return nil, now, err
	}
	text, err := t.root.ReadFile(name)
	return text, now, err
}

// Compare implements [Store].
func (t *tree) Compare(ctx context.Context, name string, content Content) (now Stamp, same bool, err error) {
	if now, err = t.Stat(ctx, name); err != nil {
		return now, false, err
	}
	f, err := t.root.Open(name)
	if err != nil {
		return now, false, err
	}
	defer f.Close()
	c := &comparison{file: bufio.NewReaderSize(f, bufferSize)}
	_, err = content.WriteTo(c)
	switch {
	case errors.Is(err, errDiffers):
		return now, false, nil
	case err != nil:
		return now, false, err
	}
	_, err = c.file.ReadByte()
	return now, err == io.EOF, nil
}

var errDiffers = errors.New("the content differs")

// A comparison fails with errDiffers at the first byte that differs from a file.
type comparison struct {
	file *bufio.Reader
	buf  []byte
}

func (c *comparison) Write(p []byte) (int, error) {
	if len(c.buf) < len(p) {
		c.buf = make([]byte, len(p))
	}
	if _, err := io.ReadFull(c.file, c.buf[:len(p)]); err != nil || !bytes.Equal(c.buf[:len(p)], p) {
		return 0, errDiffers
	}
	return len(p), nil
}

// Write implements [Store]. Only the lock keeps others from the file.
func (t *tree) Write(_ context.Context, name string, content Content, _ Stamp) (now Stamp, err error) {
	folder := path.Dir(name)
	one, _ := t.writing.LoadOrStore(folder, new(sync.Mutex))
	one.(*sync.Mutex).Lock()
	defer one.(*sync.Mutex).Unlock()
	if err := t.makeFolder(folder); err != nil {
		return now, err
	}
	temp := path.Join(folder, tempName)
	if now, err = t.create(temp, content); err != nil {
		t.root.Remove(temp)
		return now, err
	}
	t.done()
	if err := t.root.Rename(temp, name); err != nil {
		return now, err
	}
	t.done()
	return now, t.syncFolder(folder)
}

// create writes a new file to disk.
func (t *tree) create(name string, content io.WriterTo) (now Stamp, err error) {
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return now, err
	}
	b := bufio.NewWriterSize(f, bufferSize)
	_, err = content.WriteTo(b)
	err = errors.Join(err, b.Flush())
	if err == nil {
		err = f.Sync()
	}
	if info, statErr := f.Stat(); err == nil {
		if err = statErr; err == nil {
			now = stampOf(info)
		}
	}
	return now, errors.Join(err, f.Close())
}

// Remove implements [Store].
func (t *tree) Remove(_ context.Context, name string) (bool, error) {
	err := t.root.Remove(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	t.done()
	return true, nil
}

// Files implements [Store].
func (t *tree) Files(_ context.Context, folder string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := fs.ReadDir(t.root.FS(), folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield("", err)
			return
		}
		for _, e := range entries {
			if e.Type().IsRegular() && !yield(e.Name(), nil) {
				return
			}
		}
	}
}

func (t *tree) done() {
	if t.changed != nil {
		t.changed()
	}
}

// gz is the suffix of compressed copies.
const gz = ".gz"

func isPackage(name string) bool { return strings.HasSuffix(name, ".zip") }

// partName matches names of files that only parts and packages have, with or without the
// suffix of compressed copies.
var partName = regexp.MustCompile(`(^|/)([0-9a-f]{32}|[0-9]{8}T[0-9]{6}\.[0-9]{9}Z(-[0-9]{8}T[0-9]{6}\.[0-9]{9}Z)?)\.(xml|zip)(\.gz)?$`)

// text is the content of a file in memory.
type text []byte

func (t text) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(t)
	return int64(n), err
}
