package check

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

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
	Listed   time.Time // at of the Resource List, if it is known
	Version  bool      // it is an earlier state of a resource; only its existence is checked

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

// listed is contentOf for an entry of a Resource List.
func listed(d *document, e *rsxml.Entry, at place) content {
	c := contentOf(e, at)
	c.Listed = d.head.Metadata.At
	return c
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

// request requests resources, compares them with their entries, and calls each, concurrently, with
// those that differ.
func (c *checker) request(ctx context.Context, wants []content, each func(*content, *fault) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Concurrency)
	for _, w := range wants {
		group.Go(func() error {
			f := c.requestOne(ctx, &w)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if f == nil {
				return nil
			}
			return each(&w, f)
		})
	}
	return group.Wait()
}

// A fault is what is wrong with a resource. It may be explained by a change.
type fault struct {
	rule, text string
	err        error // of the request
}

// mismatch reports whether the resource differs from its entry.
func (f *fault) mismatch() bool {
	_, ok := errors.AsType[*fetch.MismatchError](f.err)
	return ok
}

// requestOne requests a resource, and returns what is wrong with it, or nil.
func (c *checker) requestOne(ctx context.Context, w *content) *fault {
	if !strings.HasPrefix(w.URI, "http:") && !strings.HasPrefix(w.URI, "https:") {
		return nil
	}
	c.at(w.URI)
	if w.Version {
		return c.requestVersion(ctx, w)
	}
	got, err := c.client.Download(ctx, fetch.Folder{Name: c.folder}, c.want(w))
	if err == nil {
		c.resources.Add(1)
		c.claimed(w.URI, got.Link, w.place())
		c.compareType(w, got.Type)
		got.Close()
		return nil
	}
	wrong, mismatch := errors.AsType[*fetch.MismatchError](err)
	switch {
	case mismatch && wrong.What == "length":
		return &fault{"resource-length", fmt.Sprintf("the length of %s is %s, but the entry says %s", w.URI, wrong.Got, wrong.Want), err}
	case mismatch:
		return &fault{"resource-hash", fmt.Sprintf("the %s of %s is %s, but the entry says %s", wrong.What, w.URI, wrong.Got, wrong.Want), err}
	case errors.Is(err, fetch.ErrLarge):
		c.skip("%s was not compared with its entry: it has more than %d bytes", w.URI, c.options.MaxContent)
		return nil
	}
	rule, text := failure(w.URI, err, "resource-unreachable")
	return &fault{rule, text, err}
}

// requestVersion requests an earlier state of a resource, without its content, and adds a finding if
// there is none.
func (c *checker) requestVersion(ctx context.Context, w *content) *fault {
	res, err := c.client.Get(ctx, w.URI, nil)
	if err == nil {
		res.Body.Close()
	} else if fetch.IsStatus(err, http.StatusNotFound, http.StatusGone) {
		c.add("version-missing", w.place(), "", "%v", err)
	}
	return nil
}

// addUnlessChanged adds a finding about a resource, unless the resource or its entry has changed during the
// during the check.
func (c *checker) addUnlessChanged(ctx context.Context, w *content, f *fault) error {
	if f.mismatch() && (c.changedSince(ctx, w.URI) || c.changed(ctx, w)) || c.gone(ctx, f.err, w) {
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.mismatch() {
		c.resources.Add(1)
	}
	c.add(f.rule, w.place(), "", "%s", f.text)
	return nil
}

// compareType compares the media types of a response and an entry.
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
func (st *set) requestAll(ctx context.Context, s *spool) error {
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
				return st.request(ctx, batch, st.doubt)
			} else if err != nil {
				return err
			}
			batch = append(batch, w)
		}
		if err := st.request(ctx, batch, st.doubt); err != nil {
			return err
		}
	}
}
