package rshttp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/resourcesync-go/resourcesync"
)

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
		v.content.Close()
		content, err := v.open()
		v.content, v.at = content, 0
		if err != nil {
			v.content = nil
			return err
		}
	}
	n, err := io.CopyN(io.Discard, v.content, v.offset-v.at)
	v.at += n
	return err
}
