package destination

import (
	"context"
	"io"

	"github.com/resourcesync-go/resourcesync"
)

// A Sink receives the copy of a Source. Its methods are called one at a time, in the order of
// the changes; see [Verifier] for the exception. After a crash, a call can be repeated, so the
// same call twice must have the effect of one.
//
// The Key of the Resource in a change is the name of its copy: a relative path with slashes
// that is safe and unique on every file system, and stays the same as long as the copy has
// the resource. The Length and Hashes are those of the content.
type Sink interface {
	// Put stores the content of a created or updated resource. The content is complete
	// and verified. It is an *os.File if it is large; Put may rename that file.
	Put(ctx context.Context, c resourcesync.Change, content io.Reader) error

	// Delete removes a resource. It is no error if there is none: after a crash, Delete is
	// called for each name that the copy may have got.
	Delete(ctx context.Context, c resourcesync.Change) error
}

// A Flusher is a Sink that does not store a change at once. A Destination calls Flush before
// it records changes as done. If Flush fails, all changes since the last Flush are repeated.
type Flusher interface {
	Flush(ctx context.Context) error
}

// A Verifier is a Sink whose contents an audit can read. An audit calls Open, and reads the
// content that it returns, in several goroutines at a time, and calls no other method of the
// Sink at that time.
type Verifier interface {
	// Open opens the copy of a resource by its Key. If there is none, the error is
	// fs.ErrNotExist.
	Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error)
}
