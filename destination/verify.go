package destination

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// verifies is the number of contents of the Sink that are read at a time.
const verifies = 8

// A verification reads the contents of members of the copy.
type verification struct {
	members []compared
	damaged []bool // by the number of the member
	group   *errgroup.Group
}

// startVerification begins to read the contents of members, if the Sink is a Verifier.
func startVerification(ctx context.Context, sink Sink, members []compared) *verification {
	v := &verification{members: members, damaged: make([]bool, len(members))}
	verifier, ok := sink.(Verifier)
	if !ok {
		return v
	}
	v.group, ctx = errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(verifies, len(members)) {
		v.group.Go(func() error {
			r := &contentReader{sink: verifier, sum: sha256.New(), buf: make([]byte, 32<<10)}
			for {
				i := int(next.Add(1)) - 1
				if i >= len(members) {
					return nil
				}
				whole, err := r.whole(ctx, members[i].Member)
				if err != nil {
					return fmt.Errorf("reading the copy of %s: %w", members[i].URI, err)
				}
				v.damaged[i] = !whole
			}
		})
	}
	return v
}

// wait waits for the end, and returns the first error.
func (v *verification) wait() error {
	if v == nil || v.group == nil {
		return nil
	}
	return v.group.Wait()
}

// A contentReader reads contents of a Sink one by one.
type contentReader struct {
	sink Verifier
	sum  hash.Hash
	buf  []byte
}

// whole reports whether the Sink has the content of m.
func (r *contentReader) whole(ctx context.Context, m *state.Member) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	content, err := r.sink.Open(ctx, resourcesync.Resource{Key: m.Path, URI: m.URI, Length: resourcesync.Bytes(m.Size), Hashes: m.Hashes})
	if _, foreign := errors.AsType[*ForeignError](err); foreign || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer content.Close()
	r.sum.Reset()
	size := int64(0)
	for {
		n, err := content.Read(r.buf)
		r.sum.Write(r.buf[:n])
		if size += int64(n); err == io.EOF || size > m.Size {
			break
		}
		if err != nil {
			return false, err
		}
	}
	return size == m.Size && digest.Agree([]resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(r.sum.Sum(nil))}}, m.Hashes), nil
}
