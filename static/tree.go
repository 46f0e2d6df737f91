package static

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
)

const (
	lockName = ".static.lock"

	// tempName is the name of a file that is being written, in the folder of the one that
	// it replaces. There is one at a time.
	tempName = ".static.tmp"

	bufferSize = 256 << 10
)

// OwnFiles returns the names of the files in which [Write] keeps its own records. They are in
// the folder of the base URL.
func OwnFiles() []string { return []string{recordName, lockName, tempName} }

// ErrLocked means that another process writes to the same folder.
var ErrLocked = errors.New("another process writes to the folder")

// A tree is the folder of the files, locked for this process.
type tree struct {
	root    *os.Root
	base    string // the folder of the documents
	lock    *flock.Flock
	changed func() // after each change, or nil
}

// openTree opens the folder out, which exists, for documents below base, the path of a URL.
func openTree(out, base string, changed func()) (*tree, error) {
	root, err := os.OpenRoot(out)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, base: path.Clean(strings.Trim(base, "/")), changed: changed}
	if err = t.makeFolder(t.base); err == nil {
		t.lock = flock.New(filepath.Join(out, filepath.FromSlash(t.own(lockName))))
		var free bool
		if free, err = t.lock.TryLock(); err == nil && !free {
			err = ErrLocked
		}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return t, nil
}

func (t *tree) close() {
	t.lock.Close()
	t.root.Close()
}

// own returns the path of a file beside the documents.
func (t *tree) own(name string) string { return path.Join(t.base, name) }

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

// stat returns the stamp of a file.
func (t *tree) stat(name string) (s stamp, found bool, err error) {
	info, err := t.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file, but has the name of a document", name)
	}
	if err != nil {
		return s, false, err
	}
	return stampOf(info), true, nil
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime().UnixNano()} }

// compare reports whether there is a file, and whether it has this content.
func (t *tree) compare(name string, content io.WriterTo) (now stamp, found, same bool, err error) {
	if now, found, err = t.stat(name); err != nil || !found {
		return now, found, false, err
	}
	f, err := t.root.Open(name)
	if err != nil {
		return now, true, false, err
	}
	defer f.Close()
	c := &comparison{file: bufio.NewReaderSize(f, bufferSize)}
	_, err = content.WriteTo(c)
	switch {
	case errors.Is(err, errDiffers):
		return now, true, false, nil
	case err != nil:
		return now, true, false, err
	}
	_, err = c.file.ReadByte()
	return now, true, err == io.EOF, nil
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

// write replaces a file, and returns when the new one is on disk.
func (t *tree) write(name string, content io.WriterTo) (now stamp, err error) {
	folder := path.Dir(name)
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
func (t *tree) create(name string, content io.WriterTo) (now stamp, err error) {
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

// remove removes a file, which need not exist.
func (t *tree) remove(name string) error {
	if err := t.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.done()
	return nil
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
