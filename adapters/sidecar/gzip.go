package sidecar

import (
	"bufio"
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// A gzipReader decompresses the members of a gzip stream. Like browsers, it ignores other
// data after a member.
type gzipReader struct {
	in     *bufio.Reader
	member *gzip.Reader
}

func newGzipReader(r io.Reader) (*gzipReader, error) {
	in := bufio.NewReader(r)
	member, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{in, member}, nil
}

// Read implements [io.Reader].
func (z *gzipReader) Read(p []byte) (int, error) {
	n, err := z.member.Read(p)
	if err != io.EOF {
		return n, err
	}
	magic, err := z.in.Peek(2)
	if string(magic) != "\x1f\x8b" {
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	if err := z.member.Reset(z.in); err != nil {
		return n, err
	}
	z.member.Multistream(false)
	return n, nil
}

// A zipper compresses a page while it is read.
type zipper struct {
	page io.ReadCloser
	zw   *gzip.Writer
	out  bytes.Buffer
	err  error // of page
}

var gzipWriters = sync.Pool{New: func() any {
	zw, _ := gzip.NewWriterLevel(nil, gzip.DefaultCompression)
	return zw
}}

func newZipper(page io.ReadCloser) *zipper {
	z := &zipper{page: page, zw: gzipWriters.Get().(*gzip.Writer)}
	z.zw.Reset(&z.out)
	return z
}

// Read implements [io.Reader].
func (z *zipper) Read(p []byte) (int, error) {
	buf := buffers.Get()
	defer buffers.Put(buf)
	for z.out.Len() == 0 {
		if z.err != nil {
			return 0, z.err
		}
		var n int
		n, z.err = z.page.Read(buf)
		_, _ = z.zw.Write(buf[:n]) // a bytes.Buffer accepts everything
		switch {
		case z.err == io.EOF:
			_ = z.zw.Close()
		case z.err != nil || n < len(buf): // the page breaks off, or arrives slowly
			_ = z.zw.Flush()
		}
	}
	return z.out.Read(p)
}

// Close implements [io.Closer]. Read must not be called afterwards.
func (z *zipper) Close() error {
	if z.zw != nil {
		gzipWriters.Put(z.zw)
		z.zw = nil
	}
	return z.page.Close()
}
