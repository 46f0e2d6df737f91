package objectstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/resourcesync-go/resourcesync/static"
)

// inMemory is the size up to which a content is kept in memory for its upload. Documents are
// smaller, packages usually larger.
const inMemory = 64 << 20

// A spooled is a content for an upload: stores need its length and its digest first. It is in
// memory or in a temporary file.
type spooled struct {
	io.ReadSeeker
	size   int64
	max    int64 // that size may have
	digest string

	text []byte
	file *os.File
}

// spool reads a content of max bytes at most. The caller closes the result. A larger content is
// ErrTooLarge as soon as that is known.
func spool(c static.Content, max int64) (*spooled, error) {
	s := &spooled{max: max}
	var err error
	if s.digest, err = digestOf(c, s); err == nil && s.file != nil {
		_, err = s.file.Seek(0, io.SeekStart)
		s.ReadSeeker = s.file
	} else {
		s.ReadSeeker = bytes.NewReader(s.text)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// Write implements io.Writer.
func (s *spooled) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if s.size > s.max {
		return 0, fmt.Errorf("%w, which takes %d bytes in one request", ErrTooLarge, s.max)
	}
	if s.file == nil && len(s.text)+len(p) <= inMemory {
		s.text = append(s.text, p...)
		return len(p), nil
	}
	if s.file == nil {
		file, err := os.CreateTemp("", "resourcesync-*.upload")
		if err != nil {
			return 0, err
		}
		// Windows does not remove an open file.
		_ = os.Remove(file.Name())
		s.file = file
		if _, err := file.Write(s.text); err != nil {
			return 0, err
		}
		s.text = nil
	}
	return s.file.Write(p)
}

func (s *spooled) close() {
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// digestOf writes a content to w, and returns the digest of the content and its headers, with the
// length of the content.
func digestOf(c static.Content, w io.Writer) (string, error) {
	sum := sha256.New()
	size, err := c.WriteTo(io.MultiWriter(sum, w))
	if err != nil {
		return "", err
	}
	all := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %x", c.Type, c.Encoding, c.CacheControl, sum.Sum(nil)))
	return hex.EncodeToString(all[:]) + sizeOf(size), nil
}

func sizeOf(n int64) string { return fmt.Sprintf("-%d", n) }

// isOurs reports whether a Store has stored the object. Some stores keep the metadata of an object
// that another program replaces, so the length must be right, too.
func isOurs(o Object) bool { return strings.HasSuffix(o.Digest, sizeOf(o.Size)) }

// text is a content in memory.
type text string

// WriteTo implements io.WriterTo.
func (t text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, string(t))
	return int64(n), err
}
