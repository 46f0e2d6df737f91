package virtualzip

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A Reader reads an [Archive] for one HTTP response. It has at most one entry open, and
// closes it at the entry's end, when reading fails, on Close, and when the context of the
// Reader ends.
//
// Its methods are safe for concurrent use: Close may be called while http.ServeContent
// still reads the last of several ranges in another goroutine.
type Reader struct {
	archive *Archive
	ctx     context.Context
	cancel  context.CancelFunc
	unwatch func() bool // detaches the Reader from the end of ctx
	turn    Turn

	mu   sync.Mutex
	pos  int64 // the offset of the next Read
	at   int64 // the offset at which the last Read ended
	next int   // the entry that at is before or within
	body *body // that entry, if it is open
	err  error // ended reading
}

// A Turn limits the number of readers that read many bytes without sending them: the
// part of an entry before the requested range, which is read for the checksum. It waits
// for a turn and returns a function that ends the turn, or fails when ctx ends.
type Turn func(ctx context.Context) (end func(), err error)

// NewReader returns a Reader at the beginning of the archive. It opens entries with ctx,
// and reading fails with the error of ctx when ctx ends. turn may be nil. The caller must
// close the Reader unless ctx ends.
func (a *Archive) NewReader(ctx context.Context, turn Turn) *Reader {
	r := &Reader{archive: a, turn: turn}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.unwatch = context.AfterFunc(r.ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.end(r.ctx.Err())
	})
	return r
}

// Read implements io.Reader. It fills p, across entries, as long as reading succeeds and
// no deferred checksum is needed. The next call returns an error that occurs after some
// bytes.
func (r *Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at != r.pos {
		r.closeBody()
		r.at, r.next = r.pos, r.archive.locate(r.pos)
	}
	read := 0
	for read < len(p) && r.at < r.archive.size && r.err == nil {
		if read > 0 && !r.archive.isSettled(r.next) {
			break // that may take a while
		}
		n, err := r.step(p[read:])
		if err != nil {
			r.end(err)
		}
		read += n
		r.at += int64(n)
	}
	r.pos = r.at
	switch {
	case read > 0 || len(p) == 0:
		return read, nil
	case r.err != nil:
		return 0, r.err
	default:
		return 0, io.EOF
	}
}

// Seek implements io.Seeker. It opens nothing, and returning to the end of the last Read
// costs nothing. A Read elsewhere opens the entry there and may have to read all of it,
// so a handler should limit the number of ranges of a request.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.archive.size
	default:
		return 0, errors.New("virtualzip: invalid whence")
	}
	if offset < 0 {
		return 0, errors.New("virtualzip: position before the beginning")
	}
	r.pos = offset
	return offset, nil
}

// WriteTo implements io.WriterTo, in pieces of 256 KiB. That is a fifth faster than the
// pieces of 32 KiB of http.ServeContent, which hides WriteTo behind a limit.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, buf[:])
}

// Err returns the error that ended reading: an [*EntryError], the error of the context,
// or nil. http.ServeContent does not report it. A handler that calls Err between
// ServeContent and Close knows whether to close the connection, and what to log.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close ends reading and closes the open entry. It ends the context of that entry and
// waits for a running Read. It returns nil: an error of closing an entry does not affect
// the bytes read.
func (r *Reader) Close() error {
	r.unwatch()
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(fs.ErrClosed)
	return nil
}

// step reads bytes at r.at, from a single entry or from the headers between two. It
// returns no bytes and no error only at an empty entry.
func (r *Reader) step(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	a := r.archive
	if err := a.settle(r.ctx, r.next); err != nil {
		return 0, err
	}
	if r.next == len(a.members) {
		return copy(p, a.headers[int64(len(a.headers))-(a.size-r.at):]), nil
	}
	m := &a.members[r.next]
	if before := m.start - r.at; before > 0 {
		return copy(p, a.headers[m.header-int(before):m.header]), nil
	}
	n := 0
	// http.ServeContent reads several ranges in a goroutine without a recover.
	err := background.Safely(func() (err error) {
		n, err = r.readBody(m, p)
		return err
	})
	if err != nil {
		if ended := r.ctx.Err(); ended != nil {
			return 0, ended
		}
		return 0, &EntryError{a.name(r.next), err}
	}
	if r.body.left == 0 {
		r.closeBody()
		r.next++
	}
	return n, nil
}

func (r *Reader) readBody(m *member, p []byte) (int, error) {
	if r.body == nil {
		crc, _ := r.archive.Sum(r.next) // is settled
		b, err := r.openAt(m, r.at-m.start, crc)
		if err != nil {
			return 0, err
		}
		r.body = b
	}
	return r.body.read(p)
}

// end ends reading with err, unless it has ended.
func (r *Reader) end(err error) {
	if r.err == nil {
		r.err = err
	}
	r.closeBody()
}

func (r *Reader) closeBody() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}
