package rshttp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/transfer"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// maxQuery is the maximum length of a query that identifies a version: a URI of the maximum
// length, with every character escaped, and a datetime.
const maxQuery = 3*rsxml.MaxURI + 100

// serveMemento answers a request for a version of a resource (RFC 7089), or for
// ranges of it. It counts as a transfer of a package.
func (q request) serveMemento() error {
	sending, err := q.transfers.Admit(q.r)
	if err != nil {
		return err
	}
	defer sending.End()
	if err := sending.Start(true); err != nil { // any client can request any version
		return err
	}
	c, err := q.findVersion()
	if err != nil {
		return err
	}
	v := &version{open: func() (io.ReadCloser, error) { return q.t.Set.ChangeOpener.OpenChange(q.r.Context(), c) }}
	defer v.close()
	err = v.begin(&c.Resource)
	if errors.Is(err, fs.ErrNotExist) {
		return q.t.Set.VersionGone()
	}
	if err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("Memento-Datetime", c.Datetime.UTC().Format(http.TimeFormat))
	h.Add("Link", linkTo(c.Resource.URI, "original"))
	h["Cache-Control"] = cacheForever
	h["X-Content-Type-Options"] = hdrNosniff
	h.Set("Etag", `"`+partition.FormatTime(c.Datetime)+`"`)
	h.Set("Content-Type", cmp.Or(c.Resource.Type, "application/octet-stream"))
	if c.Resource.Encoding != "" {
		h.Set("Content-Encoding", c.Resource.Encoding)
	}
	q.counters.sent.Add(1)
	transfer.Serve(q.w, q.r, time.Time{}, v)
	if v.err != nil {
		q.breakOff("version aborted: its content does not match the journal, or cannot be read",
			slog.String("uri", c.Resource.URI), slog.Time("datetime", c.Datetime), slog.Any("error", v.err))
	}
	return nil
}

// findVersion returns the change that produced the requested version. Clients can request
// any time.
func (q request) findVersion() (c resourcesync.Change, err error) {
	if len(q.r.URL.RawQuery) > maxQuery {
		return c, document.ErrMoment
	}
	query := q.r.URL.Query()
	uri := query.Get(document.ParamURI)
	at, err := partition.ParseTime(query.Get(document.ParamDatetime))
	if err != nil || rsxml.CheckURI(uri) != nil {
		return c, document.ErrMoment
	}
	if err := q.renderings.AcquireWithin(q.r.Context(), q.options.Limits.Wait, true); err != nil {
		return c, err
	}
	defer q.renderings.Release(true)
	ctx, cancel := context.WithTimeout(q.r.Context(), q.options.Limits.RenderTimeout)
	defer cancel()
	return q.t.Set.Version(ctx, uri, at)
}

// A version reads the content of a resource after a change, from any offset. If it is read
// from the beginning to the end, its SHA-256 is verified: on a mismatch, Read does not
// return the last bytes.
type version struct {
	open    func() (io.ReadCloser, error)
	content io.ReadCloser
	at      int64 // in content
	offset  int64 // to read at
	size    int64

	digest string    // empty if unknown
	sum    hash.Hash // of the bytes read from the beginning; nil after a skip
	err    error     // why reading has failed
}

var errVersion = errors.New("the content does not match this version")

// begin opens the version that r describes.
func (v *version) begin(r *resourcesync.Resource) error {
	content, err := v.open()
	if err != nil {
		return err
	}
	v.content = content
	for _, h := range r.Hashes {
		if h.Algorithm == "sha-256" {
			v.digest, v.sum = h.Digest, sha256.New()
		}
	}
	size, known := r.Length.Bytes()
	if seeker, ok := content.(io.Seeker); ok {
		end, err := seeker.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = seeker.Seek(0, io.SeekStart)
		}
		if err == nil && known && end != size {
			err = fmt.Errorf("%w: it has %d bytes instead of %d", errVersion, end, size)
		}
		v.size = end
		return err
	}
	if !known {
		return errors.New("the version has no Length, and its content cannot seek")
	}
	v.size = size
	return nil
}

func (v *version) close() {
	if v.content != nil {
		v.content.Close()
		v.content = nil
	}
}

// Seek implements io.Seeker. Only the next Read seeks the content.
func (v *version) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += v.offset
	case io.SeekEnd:
		offset += v.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	v.offset = offset
	return offset, nil
}

// Read implements io.Reader.
func (v *version) Read(p []byte) (int, error) {
	if v.offset >= v.size {
		return 0, io.EOF
	}
	if v.err == nil {
		v.err = v.move()
	}
	if v.err != nil {
		return 0, v.err
	}
	p = p[:min(int64(len(p)), v.size-v.at)]
	n, err := v.content.Read(p)
	v.at += int64(n)
	v.offset = v.at
	if v.sum != nil {
		v.sum.Write(p[:n])
	}
	switch {
	case err == io.EOF && v.at < v.size:
		v.err = io.ErrUnexpectedEOF
	case err != nil && err != io.EOF:
		v.err = err
	case v.at == v.size && v.sum != nil && hex.EncodeToString(v.sum.Sum(nil)) != v.digest:
		v.err = errVersion
	}
	if v.err != nil {
		return 0, v.err
	}
	return n, nil
}

// move seeks the content to the current offset.
func (v *version) move() error {
	if v.at == v.offset {
		return nil
	}
	v.sum = nil // some bytes are skipped
	if seeker, ok := v.content.(io.Seeker); ok {
		_, err := seeker.Seek(v.offset, io.SeekStart)
		v.at = v.offset
		return err
	}
	if v.at > v.offset {
		v.close()
		content, err := v.open()
		if err != nil {
			return err
		}
		v.content, v.at = content, 0
	}
	n, err := io.CopyN(io.Discard, v.content, v.offset-v.at)
	v.at += n
	return err
}
