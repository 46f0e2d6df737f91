package dir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// bufferSize is the size of one read: large enough that system calls do not matter,
// and small enough that the second digest finds the data in the CPU's cache.
const bufferSize = 128 << 10

// attempts is the number of attempts to read a changing file.
const attempts = 3

// errInFlux means that a file changed during each attempt to read it.
var errInFlux = errors.New("dir: keeps changing")

// An algorithm is a digest algorithm.
type algorithm struct {
	name string // as in resourcesync.Hash
	new  func() hash.Hash
}

func algorithmsOf(names []string) ([]algorithm, error) {
	if names == nil {
		names = []string{"sha-256"}
	}
	algorithms := make([]algorithm, 0, len(names))
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("dir: duplicate hash algorithm %q", name)
		}
		if digest.New(name) == nil {
			return nil, fmt.Errorf("dir: unknown hash algorithm %q; the algorithms are %s", name, strings.Join(digest.Algorithms(), ", "))
		}
		algorithms = append(algorithms, algorithm{name, func() hash.Hash { return digest.New(name) }})
	}
	return algorithms, nil
}

// A reader reads files, one at a time, with reusable buffers.
type reader struct {
	algorithms []algorithm
	digests    []hash.Hash
	buf        []byte
}

func newReader(algorithms []algorithm) *reader {
	r := &reader{algorithms: algorithms, buf: make([]byte, bufferSize)}
	for _, a := range algorithms {
		r.digests = append(r.digests, a.new())
	}
	return r
}

// content is the result of reading a file.
type content struct {
	status    status // of the version that was read
	settled   bool   // whether it was read long enough after its last change
	hashes    []resourcesync.Hash
	crc       uint32 // valid if there are hashes
	mediaType string
	copied    *copying // to be kept or discarded
}

// read reads one version of the file called name in the folder in. If the file keeps
// changing, the error is errInFlux.
func (s *scanRun) read(ctx context.Context, in *folder, name string) (content, error) {
	r := s.Dir.readers.Get().(*reader)
	defer s.Dir.readers.Put(r)
	for range attempts {
		c, err := s.readOnce(ctx, r, in, name)
		if err != errInFlux {
			return c, err
		}
	}
	return content{}, errInFlux
}

// readOnce is like read, but returns errInFlux at the first change.
func (s *scanRun) readOnce(ctx context.Context, r *reader, in *folder, name string) (_ content, err error) {
	f, before, err := in.open(name)
	if err != nil {
		return content{}, err
	}
	defer f.close()
	c := content{status: before, mediaType: typeByName(name)}
	c.copied = s.beginCopy()
	defer func() {
		if err != nil {
			c.copied.discard()
		}
	}()
	err = r.digest(ctx, f, before.size, &c, &s.bytes)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return content{}, errInFlux // truncated
	}
	if err != nil {
		return content{}, err
	}
	c.settled = s.isSettled(&before, time.Now())
	after, err := f.status()
	if err != nil {
		return content{}, err
	}
	if !before.isVersion(&after) {
		return content{}, errInFlux
	}
	return c, nil
}

// digest reads the first size bytes of f, or fewer if there are no hashes to compute.
// It sets the hashes in c, sets the media type if it is empty, and copies the bytes.
func (r *reader) digest(ctx context.Context, f io.Reader, size int64, c *content, count *atomic.Int64) error {
	if len(r.algorithms) == 0 {
		size = min(size, sniffLen)
	}
	for _, digest := range r.digests {
		digest.Reset()
	}
	if c.mediaType == "" && size == 0 {
		c.mediaType = typeByContent(nil)
	}
	for done := int64(0); done < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(f, r.buf[:min(int64(len(r.buf)), size-done)])
		count.Add(int64(n))
		if err != nil {
			return err
		}
		if c.mediaType == "" {
			c.mediaType = typeByContent(r.buf[:min(n, sniffLen)])
		}
		for _, digest := range r.digests {
			digest.Write(r.buf[:n])
		}
		c.copied.write(r.buf[:n])
		c.crc = crc32.Update(c.crc, crc32.IEEETable, r.buf[:n])
		done += int64(n)
	}
	c.hashes = make([]resourcesync.Hash, 0, len(r.digests))
	for i, digest := range r.digests {
		var sum [sha256.Size]byte
		c.hashes = append(c.hashes, resourcesync.Hash{
			Algorithm: r.algorithms[i].name,
			Digest:    hex.EncodeToString(digest.Sum(sum[:0])),
		})
	}
	return nil
}
