package destination

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/resourcesync-go/resourcesync"
)

// A Sink receives the copy of a Source. Its methods are called one at a time, in the order of
// the changes; see [Verifier] for the exception. After a crash, a call can be repeated, so the
// same call twice must have the effect of one.
//
// The Key of the Resource in a change is the name of its copy: a relative path with slashes that
// is safe and unique on every file system, and stays the same as long as the copy has the
// resource. Its Length and Hashes describe the content.
//
// The Destination records which Keys belong to the copy, before the Sink stores anything there:
// before Flush if the Sink is a [Flusher], otherwise before each Put. After a crash, it reads what a
// [Verifier] has, and asks other Sinks to store or delete again what they may have stored. Deletions
// of a Verifier are recorded before in the same way.
type Sink interface {
	// Put stores the content of a created or updated resource. The content is complete
	// and verified. It is an *os.File if it is large; Put may rename that file.
	//
	// If the type of the change is Created, nothing at the Key belongs to the copy. A Sink
	// whose storage others write to as well must not replace their files, and returns a
	// [ForeignError].
	Put(ctx context.Context, c resourcesync.Change, content io.Reader) error

	// Delete removes the copy of a resource. If there is none, the error is nil.
	Delete(ctx context.Context, c resourcesync.Change) error
}

// A Flusher is a Sink that stores changes in groups: Put and Delete only prepare them, and nothing
// changes at their Keys before Flush. That is faster, because the Destination records a group at
// once.
//
// If Flush returns only ForeignErrors, joined by [errors.Join], the other changes are stored.
// After any other error, all changes since the last Flush are repeated.
type Flusher interface {
	Flush(ctx context.Context) error
}

// A Verifier is a Sink whose contents can be read: by an audit, and after a crash. An audit
// calls Open, and reads the content that it returns, in several goroutines at a time, and calls
// no other method of the Sink at that time.
type Verifier interface {
	// Open opens the copy of a resource by its Key. If nothing is there, the error is
	// fs.ErrNotExist. If something is there that cannot be a copy, it is a [ForeignError].
	Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error)

	// Identify returns a text for each Key, such as an entity tag, that differs if something
	// else is stored there. It is empty if nothing that can be a copy is stored there.
	// Identify must not need the content.
	Identify(ctx context.Context, keys []string) ([]string, error)
}

// A Forgetter is a [Verifier] that keeps more of a copy than its content, such as an entry
// in a list. Forget is called when a process has ended between deleting copies and
// recording that. The copies are gone. If others have put something else in their places,
// it must stay unchanged.
type Forgetter interface {
	Forget(ctx context.Context, keys []string) error
}

// A Preparer is a Sink that needs to know when it is used. A Destination calls Prepare before any
// other method, when no other process uses the copy, and after failures. Changes that have not
// been flushed then are discarded, and so is anything that an earlier process has left behind.
// The folders are the same in all calls.
type Preparer interface {
	Prepare(ctx context.Context, folders FolderLog) error
}

// A FolderLog remembers which folders a Sink has made, so that it removes no others when they
// are empty. It is not safe for concurrent use.
type FolderLog interface {
	Made(folder string)                 // the Sink has made a folder
	IsMade(folder string) (bool, error) // whether it has
	Removed(folder string)              // the folder no longer exists
}

// A ForeignError reports that a foreign file is at the Key of a resource, or in place of
// one of its folders. The file stays unchanged, and the resource remains to be copied.
type ForeignError struct {
	Key  string // of the resource
	Name string // of the foreign file, for people, such as its path
	Kind string // such as "a file" or "a symbolic link"
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is %s that does not belong to the copy; move it elsewhere and run this again", e.Name, e.Kind)
}

// ForeignErrors returns the ForeignErrors of an error of Flush by their Keys. If it has other errors,
// ok is false.
func ForeignErrors(err error) (all map[string]*ForeignError, ok bool) {
	if err == nil {
		return nil, true
	}
	if e, is := err.(*ForeignError); is {
		return map[string]*ForeignError{e.Key: e}, true
	}
	parts, joined := err.(interface{ Unwrap() []error })
	if !joined {
		inner := errors.Unwrap(err)
		if inner == nil {
			return nil, false
		}
		return ForeignErrors(inner)
	}
	all = make(map[string]*ForeignError)
	for _, part := range parts.Unwrap() {
		some, ok := ForeignErrors(part)
		if !ok {
			return nil, false
		}
		for key, e := range some {
			all[key] = e
		}
	}
	return all, true
}
