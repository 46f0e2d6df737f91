package check

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A content is the metadata of an entry about the content of a resource or package.
type content struct {
	URI      string
	Length   int64 // -1 if unknown
	Hashes   []resourcesync.Hash
	Type     string
	Encoding string

	Document            string
	Line, Column, Entry int
}

func contentOf(e *rsxml.Entry, at place) content {
	length, known := e.Metadata.Length.Bytes()
	if !known {
		length = -1
	}
	hashes := slices.DeleteFunc(slices.Clone(e.Metadata.Hashes), func(h resourcesync.Hash) bool { return !isDigest(h) })
	return content{
		URI: e.Loc, Length: length, Hashes: hashes, Type: e.Metadata.Type, Encoding: e.Metadata.Encoding,
		Document: at.document, Line: at.line, Column: at.column, Entry: at.entry,
	}
}

func (w *content) place() place { return place{w.Document, w.Line, w.Column, w.Entry} }

// want returns the expected download.
func (c *checker) want(w *content) fetch.Want {
	return fetch.Want{URI: w.URI, Length: resourcesync.Bytes(w.Length), Hashes: w.Hashes, Encoding: w.Encoding, Max: c.options.MaxContent}
}

func (s *sample[T]) all() []T {
	out := make([]T, len(s.items))
	for i, p := range s.items {
		out[i] = p.item
	}
	return out
}

// request requests resources, and compares them with their entries.
func (c *checker) request(ctx context.Context, wants []content) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Concurrency)
	for _, w := range wants {
		group.Go(func() error { return c.requestOne(ctx, &w) })
	}
	return group.Wait()
}

func (c *checker) requestOne(ctx context.Context, w *content) error {
	if !strings.HasPrefix(w.URI, "http:") && !strings.HasPrefix(w.URI, "https:") {
		return nil
	}
	c.at(w.URI)
	got, err := c.client.Download(ctx, fetch.Folder{Name: c.folder}, c.want(w))
	if err == nil {
		defer got.Close()
	}
	wrong, mismatch := errors.AsType[*fetch.MismatchError](err)
	switch {
	case mismatch && (c.changedSince(ctx, w.URI) || c.changed(ctx, w)), c.gone(ctx, err, w):
		return ctx.Err() // it is not what its entry was about
	case mismatch && wrong.What == "length":
		c.add("resource-length", w.place(), "", "the length of %s is %s, but the entry says %s", w.URI, wrong.Got, wrong.Want)
	case mismatch:
		c.add("resource-hash", w.place(), "", "the %s of %s is %s, but the entry says %s", wrong.What, w.URI, wrong.Got, wrong.Want)
	case errors.Is(err, fetch.ErrLarge):
		c.skip("%s was not compared with its entry: it has more than %d bytes", w.URI, c.options.MaxContent)
		return nil
	case err != nil:
		return c.failed(ctx, w.URI, w.place(), err, "resource-unreachable", "")
	default:
		c.compareType(w, got.Type)
	}
	c.resources.Add(1)
	return nil
}

// compareType compares the media type of a response with that of the entry.
func (c *checker) compareType(w *content, got string) {
	want, _, err1 := mime.ParseMediaType(w.Type)
	has, _, err2 := mime.ParseMediaType(got)
	if err1 == nil && err2 == nil && strings.Contains(want, "/") && want != has {
		c.add("resource-type", w.place(), "", "the Content-Type of %s is %s, but the entry says %s", w.URI, has, want)
	}
}

// A spool is a temporary file of contents. They are requested after the document that lists
// them has been read: a server would not wait for the end of all of them.
type spool struct {
	file *os.File
	to   *bufio.Writer
	err  error
}

// add appends a content to the spool, which is made if it is nil.
func (s *spool) add(c *checker, w content) *spool {
	if s == nil {
		s = &spool{}
		if s.file, s.err = os.CreateTemp(c.folder, "spool"); s.err != nil {
			return s
		}
		s.to = bufio.NewWriter(s.file)
	}
	if s.err == nil {
		s.err = json.NewEncoder(s.to).Encode(w)
	}
	return s
}

// requestAll requests the contents of a spool, which may be nil, and deletes it.
func (c *checker) requestAll(ctx context.Context, s *spool) error {
	if s == nil {
		return nil
	}
	if s.file != nil {
		defer os.Remove(s.file.Name())
		defer s.file.Close()
	}
	if s.err == nil {
		s.err = s.to.Flush()
	}
	if s.err == nil {
		_, s.err = s.file.Seek(0, io.SeekStart)
	}
	if s.err != nil {
		return s.err
	}
	decoder := json.NewDecoder(bufio.NewReader(s.file))
	for {
		batch := make([]content, 0, 256)
		for len(batch) < cap(batch) {
			var w content
			if err := decoder.Decode(&w); err == io.EOF {
				return c.request(ctx, batch)
			} else if err != nil {
				return err
			}
			batch = append(batch, w)
		}
		if err := c.request(ctx, batch); err != nil {
			return err
		}
	}
}
