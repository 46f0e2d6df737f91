package rshttp

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// checksums are those of items that have been read, by key, URI and time of change.
type checksums map[checksumKey]*item

type checksumKey struct {
	key, uri string
	at       int64
}

func (it *item) checksumKey() checksumKey {
	return checksumKey{it.Resource.Key, it.Resource.URI, it.Datetime.UnixNano()}
}

func (c checksums) learn(items []item) {
	for i := range items {
		if it := &items[i]; it.checked {
			c[it.checksumKey()] = it
		}
	}
}

// An unlikeError says that content is not what is listed of it. It wraps no
// other error: fs.ErrNotExist would say that there is no such package.
type unlikeError struct {
	uri    string
	reason error
}

func (e *unlikeError) Error() string {
	return fmt.Sprintf("the content of %s is not what is listed: %v", e.uri, e.reason)
}

// check completes the items of inv with their checksums and with lengths that
// were not known.
func (s *Source) check(ctx context.Context, t target, inv *inventory, known checksums) error {
	for i := range inv.items {
		it := &inv.items[i]
		_, sized := it.Resource.Length.Bytes()
		if summer := t.checksummer(); summer != nil && sized && it.patch == nil {
			crc, err := summer.Checksum(ctx, it.Resource)
			if err == nil {
				it.crc, it.checked = crc, true
				continue
			}
			if !errors.Is(err, errors.ErrUnsupported) {
				return providerError("checksum of "+it.Resource.URI, err)
			}
		}
		if was := known[it.checksumKey()]; was != nil && was.Resource.Equal(it.Resource) {
			it.size, it.crc, it.checked = was.size, was.crc, true
			continue
		}
		if err := s.read(ctx, t, it); err != nil {
			return err
		}
	}
	return nil
}

// read reads an item for its checksum, and holds it to what is listed of it.
func (s *Source) read(ctx context.Context, t target, it *item) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	progress := progress{time.AfterFunc(s.options.RenderTimeout, cancel), s.options.RenderTimeout}
	defer progress.timer.Stop()

	var digests []digest
	sinks := []io.Writer{progress}
	for _, h := range it.Resource.Hashes {
		if sum := newHash(h.Algorithm); sum != nil {
			digests = append(digests, digest{h, sum})
			sinks = append(sinks, sum)
		}
	}
	s.counters.read.Add(1)
	size, crc, err := virtualzip.Checksum(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		content, err := s.open(ctx, t, it)
		if err != nil {
			return nil, err
		}
		return tee{io.TeeReader(content, io.MultiWriter(sinks...)), content}, nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return &unlikeError{it.Resource.URI, err}
	}
	if err != nil {
		return providerError("reading "+it.Resource.URI, err)
	}
	if length, ok := it.Resource.Length.Bytes(); ok && length != size {
		return &unlikeError{it.Resource.URI, fmt.Errorf("it has %d bytes, not %d", size, length)}
	}
	for _, d := range digests {
		if got := hex.EncodeToString(d.sum.Sum(nil)); got != d.Digest {
			return &unlikeError{it.Resource.URI, fmt.Errorf("its hash is %s:%s, not %v", d.Algorithm, got, d.Hash)}
		}
	}
	it.size, it.crc, it.checked = size, crc, true
	return nil
}

type digest struct {
	resourcesync.Hash
	sum hash.Hash
}

// newHash returns what computes digests of an algorithm, or nil.
func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case "md5":
		return md5.New()
	case "sha-1":
		return sha1.New()
	case "sha-256":
		return sha256.New()
	}
	return nil
}

type tee struct {
	io.Reader
	io.Closer
}

// progress puts a time limit off whenever something is written to it.
type progress struct {
	timer *time.Timer
	limit time.Duration
}

func (p progress) Write(b []byte) (int, error) {
	p.timer.Reset(p.limit)
	return len(b), nil
}
