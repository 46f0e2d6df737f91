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
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// checked says how the checksum of an item is known.
type sumState int

const (
	unchecked sumState = iota // it will be, when the package is sent
	learned                   // from sending an earlier layout of the package
	stated                    // by who has it, or because the item was read beforehand
)

// A checksum is what is known of an item.
type checksum struct {
	*item
	crc      uint32
	sumState sumState
}

// checksums are those that are known, by key, URI and time of change.
type checksums map[checksumKey]checksum

type checksumKey struct {
	key, uri string
	at       int64
}

func (it *item) checksumKey() checksumKey {
	return checksumKey{it.Resource.Key, it.Resource.URI, it.Datetime.UnixNano()}
}

// learn adds those of items that were stated or read beforehand.
func (c checksums) learn(items []item) {
	for i := range items {
		if it := &items[i]; it.sumState == stated {
			c[it.checksumKey()] = checksum{it, it.crc, stated}
		}
	}
}

// learnSent adds those of l's items that are known by now.
func (c checksums) learnSent(l *layout) {
	for i := range l.items {
		it := &l.items[i]
		if crc, known := l.sum(i); known {
			c[it.checksumKey()] = checksum{it, crc, max(it.sumState, learned)}
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

// check completes the items of inv with the checksums that are stated or were
// learned, and with lengths that were not known. What must be read for its length
// alone is read now, and so is what something was wrong with: it may be so still, and
// if not its checksum has to be in the entity tag. All else is read when it is sent.
func (s *Source) check(ctx context.Context, t target, inv *inventory, known checksums) error {
	for i := range inv.items {
		it := &inv.items[i]
		_, sized := it.Resource.Length.Bytes()
		beforehand := !sized || s.doubts.has(it.checksumKey())
		if summer := t.checksummer(); summer != nil && !beforehand && it.patch == nil {
			crc, err := summer.Checksum(ctx, it.Resource)
			if err == nil {
				it.crc, it.sumState = crc, stated
				continue
			}
			if !errors.Is(err, errors.ErrUnsupported) {
				return checked.Error("checksum of "+it.Resource.URI, err)
			}
		}
		was, ok := known[it.checksumKey()]
		switch {
		case ok && was.Resource.Equal(it.Resource) && (was.sumState == stated || !beforehand):
			it.size, it.crc, it.sumState = was.size, was.crc, was.sumState
		case beforehand:
			var err error
			if it.size, it.crc, err = s.read(ctx, t, it); err != nil {
				return err
			}
			it.sumState = stated
		}
	}
	return nil
}

// sum reads the i-th item of l for its checksum while l is sent. That is work of
// ours and takes a turn, unlike the sending.
func (s *Source) sum(ctx context.Context, l *layout, i int) (uint32, error) {
	unlisted := l.target.isUnlisted()
	if err := s.sums.Acquire(ctx, unlisted); err != nil {
		return 0, err
	}
	defer s.sums.Release(unlisted)
	if crc, known := l.sum(i); known { // by now
		return crc, nil
	}
	_, crc, err := s.read(ctx, l.target, &l.items[i])
	return crc, err
}

// read reads an item for its length and checksum, and holds it to what is listed of
// it.
func (s *Source) read(ctx context.Context, t target, it *item) (size int64, crc uint32, err error) {
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
	size, crc, err = virtualzip.Checksum(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		content, err := s.open(ctx, t, it)
		if err != nil {
			return nil, err
		}
		return tee{io.TeeReader(content, io.MultiWriter(sinks...)), content}, nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, &unlikeError{it.Resource.URI, err}
	}
	if err != nil {
		return 0, 0, checked.Error("reading "+it.Resource.URI, err)
	}
	if length, ok := it.Resource.Length.Bytes(); ok && length != size {
		return 0, 0, &unlikeError{it.Resource.URI, fmt.Errorf("it has %d bytes, not %d", size, length)}
	}
	for _, d := range digests {
		if got := hex.EncodeToString(d.sum.Sum(nil)); got != d.Digest {
			return 0, 0, &unlikeError{it.Resource.URI, fmt.Errorf("its hash is %s:%s, not %v", d.Algorithm, got, d.Hash)}
		}
	}
	return size, crc, nil
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
