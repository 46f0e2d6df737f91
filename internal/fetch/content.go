package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fault"
)

// A Folder is where large content is kept. Hook is nil, except in tests.
type Folder struct {
	Name string
	Hook fault.Hook
}

// remove removes a file that may have been renamed.
func (f *Folder) remove(name string, remove func(string) error) error {
	if err := f.Hook.Before("remove", name); err != nil {
		return err
	}
	if err := remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// MaxMemory is the maximum size of content that is kept in memory; more is kept in a file.
const MaxMemory = 256 << 10

// Want states the expected content of a resource.
type Want struct {
	URI      string
	Length   resourcesync.Length
	Hashes   []resourcesync.Hash
	Encoding string
	Known    Validators // of a copy that may still be current
	Max      int64      // bytes; 0: any number

	// Package means that the content is a package. Its reader verifies it, so a partial
	// file of another process is continued even if there are no hashes. And its resources can
	// be requested one by one: a response of 503 is final, and pauses no other requests.
	Package bool
}

// Content is a complete, verified representation.
type Content struct {
	data   []byte
	file   *os.File
	folder Folder // with the file

	Size         int64
	Hashes       []resourcesync.Hash // of the content: SHA-256, and those that were wanted
	Type         string
	Link         []string // of the header
	LastModified string
	Date         time.Time // of the answer: all changes before it are in the content, or else a cache has an old one
	Validators   Validators
	NotModified  bool // there is no content, because the copy is current
}

// Reader returns the content from its beginning: an *os.File if it is large.
func (c *Content) Reader() (io.Reader, error) {
	if c.file == nil {
		return bytes.NewReader(c.data), nil
	}
	_, err := c.file.Seek(0, io.SeekStart)
	return c.file, err
}

// Keep closes the content without deleting its file, so that a later Download need not
// receive it again.
func (c *Content) Keep() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// Close deletes the content.
func (c *Content) Close() error {
	if c.file == nil {
		return nil
	}
	name := c.file.Name()
	return errors.Join(c.file.Close(), c.folder.remove(name, os.Remove), c.folder.remove(name+validatorSuffix, os.Remove))
}

// A MismatchError means that content is not what the list says.
type MismatchError struct{ What, Got, Want string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("its %s is %s, but the list says %s", e.What, e.Got, e.Want)
}

// ErrLarge means that content exceeds a limit.
var ErrLarge = errors.New("it is larger than the limit for a resource")
