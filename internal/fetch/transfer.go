package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// A transfer is a download, in one or several attempts.
type transfer struct {
	want      Want
	name      string // of the partial file
	content   *Content
	size      int64
	validator string // for If-Range; "" if the transfer cannot be resumed
	sums      *digest.Sums
}

func newTransfer(folder Folder, w Want) *transfer {
	return &transfer{want: w, name: filepath.Join(folder.Name, partialName(w.URI)), content: &Content{folder: folder}}
}

// restart discards the bytes read so far.
func (t *transfer) restart() error {
	t.size, t.validator = 0, ""
	t.content.data = t.content.data[:0]
	t.sums = digest.NewSums(t.want.Hashes...)
	t.sums.Add("sha-256")
	if f := t.content.file; f != nil {
		if err := t.before("truncate"); err != nil {
			return err
		}
		_, err := f.Seek(0, io.SeekStart)
		return errors.Join(err, f.Truncate(0))
	}
	return nil
}

// reopen continues a partial file, if its content can be verified in the end.
func (t *transfer) reopen(fresh bool) error {
	if err := t.restart(); err != nil || fresh || len(t.want.Hashes) == 0 && !t.want.Package {
		return err
	}
	if length, known := t.want.Length.Bytes(); known && length <= MaxMemory {
		return nil // none is kept of so little
	}
	validator, err := os.ReadFile(t.name + validatorSuffix)
	if err != nil {
		return nil
	}
	f, err := os.OpenFile(t.name, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	t.content.file = f
	n, err := io.Copy(t.sums, f)
	t.size, t.validator = n, string(validator)
	return err
}

// abandon ends a transfer that has failed. A partial file stays if it can be resumed.
func (t *transfer) abandon(err error) {
	if t.content.file == nil {
		return
	}
	if _, ok := errors.AsType[*MismatchError](err); ok || t.validator == "" {
		t.content.Close()
		return
	}
	t.content.file.Close()
}

// attempt requests the missing bytes, and verifies the whole.
func (t *transfer) attempt(ctx context.Context, c *Client, fresh bool) error {
	header := http.Header{}
	switch {
	case t.size > 0 && t.validator != "":
		header.Set("Range", fmt.Sprintf("bytes=%d-", t.size))
		header.Set("If-Range", t.validator)
	case !fresh:
		header = t.want.Known.Header()
	}
	header.Set("Accept-Encoding", "identity")
	if t.want.Encoding != "" {
		header.Set("Accept-Encoding", t.want.Encoding+", identity;q=0.5")
	}
	if fresh {
		header.Set("Cache-Control", "no-cache")
	}
	res, err := c.Get(ctx, t.want.URI, header)
	if failed, ok := errors.AsType[*StatusError](err); ok && failed.Status == http.StatusRequestedRangeNotSatisfiable && t.size > 0 {
		if failed.contentRange == fmt.Sprintf("bytes */%d", t.size) {
			// Nothing is missing: the validator describes the whole.
			t.content.Validators = validatorsOf(t.validator)
			return t.verify()
		}
		if err := t.restart(); err != nil {
			return err
		}
		return ErrBroken
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	t.content.Date = Date(res.Header)
	if res.StatusCode == http.StatusNotModified {
		t.content.NotModified = true
		return nil
	}
	if res.StatusCode != http.StatusPartialContent || !continues(res.Header.Get("Content-Range"), t.size) {
		if res.StatusCode == http.StatusPartialContent {
			return errors.New("the server sent a different range than requested")
		}
		if err := t.restart(); err != nil {
			return err
		}
		if err := t.begin(res); err != nil {
			return err
		}
	}
	var body io.Reader = res.Body
	if t.want.Encoding == "" && strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
		// The server compresses although it was asked not to.
		t.validator = ""
		if body, err = gzip.NewReader(body); err != nil {
			return errors.Join(ErrBroken, err)
		}
	}
	if err := t.read(body); err != nil {
		return err
	}
	return t.verify()
}

// continues reports whether a Content-Range begins at size.
func continues(contentRange string, size int64) bool {
	return size > 0 && strings.HasPrefix(contentRange, "bytes "+strconv.FormatInt(size, 10)+"-")
}

// begin records what the header of a complete response says.
func (t *transfer) begin(res *http.Response) error {
	t.content.Type = res.Header.Get("Content-Type")
	t.content.Link = res.Header.Values("Link")
	t.content.LastModified = res.Header.Get("Last-Modified")
	t.content.Validators = ValidatorsOf(res.Header)
	switch v := t.content.Validators; {
	case v.ETag != "" && !strings.HasPrefix(v.ETag, "W/"):
		t.validator = v.ETag
	case v.ETag == "":
		t.validator = v.LastModified
	}
	if t.content.file == nil {
		return nil
	}
	return t.saveValidator()
}

// validatorsOf returns the validators of a response with a validator for If-Range.
func validatorsOf(validator string) Validators {
	if strings.HasPrefix(validator, `"`) {
		return Validators{ETag: validator}
	}
	return Validators{LastModified: validator}
}

// buffers are reused between transfers: most resources are much smaller.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// read reads the rest of the content.
func (t *transfer) read(r io.Reader) error {
	buf := buffers.Get().(*[64 << 10]byte)[:]
	defer buffers.Put((*[64 << 10]byte)(buf))
	want, known := t.want.Length.Bytes()
	for {
		n, err := r.Read(buf)
		t.sums.Write(buf[:n])
		if failed := t.write(buf[:n]); failed != nil {
			return failed
		}
		switch {
		case known && t.size > want:
			return &MismatchError{"length", "larger than that", strconv.FormatInt(want, 10)}
		case t.want.Max > 0 && t.size > t.want.Max:
			t.validator = ""
			return fmt.Errorf("%w of %d bytes", ErrLarge, t.want.Max)
		case err == io.EOF:
			return nil
		case err != nil:
			return errors.Join(ErrBroken, err)
		}
	}
}

func (t *transfer) write(p []byte) error {
	t.size += int64(len(p))
	if t.content.file == nil && t.size <= MaxMemory {
		t.content.data = append(t.content.data, p...)
		return nil
	}
	if t.content.file == nil {
		if err := t.spill(); err != nil {
			return err
		}
	}
	if err := t.before("write"); err != nil {
		return err
	}
	_, err := t.content.file.Write(p)
	return err
}

// before calls the hook for an operation on the file of the transfer.
func (t *transfer) before(operation string) error {
	return t.content.folder.Hook.Before(operation, t.name)
}

// spill moves the content to a file, in a folder that may have been removed.
func (t *transfer) spill() error {
	if err := t.before("create"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.name), 0o700); err != nil {
		return err
	}
	if err := t.saveValidator(); err != nil {
		return err
	}
	f, err := os.OpenFile(t.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	t.content.file = f
	if err = t.before("write"); err == nil {
		_, err = f.Write(t.content.data)
	}
	t.content.data = nil
	return err
}

// saveValidator stores the validator beside the partial file.
func (t *transfer) saveValidator() error {
	if t.validator == "" {
		return t.content.folder.remove(t.name+validatorSuffix, os.Remove)
	}
	if err := t.content.folder.Hook.Before("write", t.name+validatorSuffix); err != nil {
		return err
	}
	return os.WriteFile(t.name+validatorSuffix, []byte(t.validator), 0o600)
}

// verify compares the content with the entry of the list.
func (t *transfer) verify() error {
	t.content.Size = t.size
	if want, known := t.want.Length.Bytes(); known && want != t.size {
		return &MismatchError{"length", strconv.FormatInt(t.size, 10), strconv.FormatInt(want, 10)}
	}
	t.content.Hashes = t.sums.Hashes()
	if differ := digest.Differ(t.content.Hashes, t.want.Hashes); differ != nil {
		return &MismatchError{differ.Have.Algorithm, differ.Have.Digest, differ.Want.Digest}
	}
	return nil
}
