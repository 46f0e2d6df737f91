package sidecar

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
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
	if err != nil && err != io.EOF {
		return n, err
	}
	if string(magic) != "\x1f\x8b" {
		_, err := io.Copy(io.Discard, z.in) // lets the website finish writing
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

// unzipPrefix decompresses the beginning of a gzip stream, enough to find the insertion
// point.
func unzipPrefix(data []byte) ([]byte, error) {
	zr, err := newGzipReader(bytes.NewReader(data))
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = io.Copy(&out, io.LimitReader(zr, maxProlog))
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	return out.Bytes(), err
}

var gzipWriters = sync.Pool{New: func() any {
	zw, _ := gzip.NewWriterLevel(nil, gzip.DefaultCompression)
	return zw
}}

// A recoder decompresses the page written to it, inserts links and compresses it again.
type recoder struct {
	in   *io.PipeWriter
	done chan error
}

func newRecoder(w http.ResponseWriter, at int, links []byte) *recoder {
	out, in := io.Pipe()
	r := &recoder{in, make(chan error, 1)}
	go func() {
		err := recode(w, out, at, links)
		out.CloseWithError(err) // Write fails from now on
		r.done <- err
	}()
	return r
}

func recode(w http.ResponseWriter, page io.Reader, at int, links []byte) (err error) {
	zr, err := newGzipReader(page)
	if err != nil {
		return err
	}
	zw := gzipWriters.Get().(*gzip.Writer)
	zw.Reset(w)
	flusher := http.NewResponseController(w)
	defer func() {
		if err != nil { // send the beginning of an aborted page
			_ = zw.Flush()
			_ = flusher.Flush()
		}
		gzipWriters.Put(zw)
	}()
	if _, err := io.CopyN(zw, zr, int64(at)); err != nil {
		return err
	}
	if _, err := zw.Write(links); err != nil {
		return err
	}
	buf := buffers.Get()
	defer buffers.Put(buf)
	for {
		n, err := zr.Read(buf)
		if n > 0 {
			if _, err := zw.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return zw.Close()
		}
		if err != nil {
			return err
		}
		if n < len(buf) { // the page arrives slowly
			if err := zw.Flush(); err != nil {
				return err
			}
			_ = flusher.Flush()
		}
	}
}

func (r *recoder) Write(p []byte) (int, error) { return r.in.Write(p) }

// close waits until the complete page is written.
func (r *recoder) close() error {
	_ = r.in.Close()
	return <-r.done
}

// abort ends an incomplete page.
func (r *recoder) abort() {
	_ = r.in.CloseWithError(io.ErrUnexpectedEOF)
	<-r.done
}
