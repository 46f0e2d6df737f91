package rshttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/transfer"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A version of a resource is identified by the datetime of the change that produced it and
// by the URI of the resource. Both are in the query of its URL, because proxies rewrite
// paths that contain a URI.
const (
	paramDatetime = "datetime"
	paramURI      = "uri"
)

// maxQuery is the maximum length of a query that identifies a version: a URI of the maximum
// length, with every character escaped, and a datetime.
const maxQuery = 3*rsxml.MaxURI + 100

// errMoment means that a journal has no version of the resource at the datetime.
var errMoment = fmt.Errorf("no version of this resource at this datetime: %w", fs.ErrNotExist)

// mementoURL returns the URL of the version of uri after the change at t.
func (st *set) mementoURL(uri string, t time.Time) string {
	return st.url(kindMemento, "") + "?" + paramDatetime + "=" + partition.FormatTime(t) + "&" + paramURI + "=" + url.QueryEscape(uri)
}

// withVersions returns a function that adds version links to the entries of st's
// Change Lists, or nil.
func (st *set) withVersions() func(*resourcesync.Change, *rsxml.Entry) {
	if !st.memento {
		return nil
	}
	var links []resourcesync.Link
	return func(c *resourcesync.Change, e *rsxml.Entry) {
		links = st.versionLinks(append(links[:0], e.Links...), c)
		e.Links = links
	}
}

// versionLinks appends the links of a Change List entry to the version after c (section
// 14.6).
func (st *set) versionLinks(links []resourcesync.Link, c *resourcesync.Change) []resourcesync.Link {
	isMemento := func(l resourcesync.Link) bool { return l.Rel == resourcesync.RelMemento }
	if c.Type == resourcesync.Deleted || slices.ContainsFunc(links, isMemento) {
		return links // an entry has one at most, and a host's own comes first
	}
	return append(links, resourcesync.Link{
		Rel:      resourcesync.RelMemento,
		Href:     st.mementoURL(c.Resource.URI, c.Datetime),
		Modified: c.Resource.LastModified,
		Hashes:   c.Resource.Hashes,
		Length:   c.Resource.Length,
		Type:     c.Resource.Type,
		Encoding: c.Resource.Encoding,
	})
}

// serveMemento answers a request for a version of a resource (RFC 7089), or for
// ranges of it. It counts as a transfer of a package.
func (s *Source) serveMemento(w http.ResponseWriter, r *http.Request, t target) {
	sending, err := s.transfers.Admit(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer sending.End()
	if err := sending.Start(true); err != nil { // any client can request any version
		s.fail(w, r, err)
		return
	}
	c, err := s.findVersion(r, t)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v := &version{open: func() (io.ReadCloser, error) { return t.set.changeOpener.OpenChange(r.Context(), c) }}
	defer v.close()
	if err := v.begin(&c.Resource); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = t.set.versionGone()
		}
		s.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Memento-Datetime", c.Datetime.UTC().Format(http.TimeFormat))
	h.Add("Link", linkheader.Link{Target: c.Resource.URI, Rel: "original"}.String())
	h["Cache-Control"] = cacheForever
	h["X-Content-Type-Options"] = hdrNosniff
	h.Set("Etag", `"`+partition.FormatTime(c.Datetime)+`"`)
	h.Set("Content-Type", "application/octet-stream")
	if c.Resource.Type != "" {
		h.Set("Content-Type", c.Resource.Type)
	}
	if c.Resource.Encoding != "" {
		h.Set("Content-Encoding", c.Resource.Encoding)
	}
	s.counters.sent.Add(1)
	transfer.Serve(w, r, time.Time{}, v)
	if v.err != nil {
		s.counters.broken.Add(1)
		s.sparse.Log(r.Context(), s.log, slog.LevelError, "version aborted: its content does not match the journal, or cannot be read",
			slog.String("uri", c.Resource.URI), slog.Time("datetime", c.Datetime), slog.Any("error", v.err))
		panic(http.ErrAbortHandler)
	}
}

// findVersion returns the change that produced the version that r requests. Clients can
// request any time.
func (s *Source) findVersion(r *http.Request, t target) (c resourcesync.Change, err error) {
	if len(r.URL.RawQuery) > maxQuery {
		return c, errMoment
	}
	query := r.URL.Query()
	uri := query.Get(paramURI)
	at, err := partition.ParseTime(query.Get(paramDatetime))
	if err != nil || rsxml.CheckURI(uri) != nil {
		return c, errMoment
	}
	if err := s.renderings.AcquireWithin(r.Context(), s.options.Wait, true); err != nil {
		return c, err
	}
	defer s.renderings.Release(true)
	ctx, cancel := context.WithTimeout(r.Context(), s.options.RenderTimeout)
	defer cancel()
	return t.set.version(ctx, uri, at)
}

// version returns the change of uri at the time at.
func (st *set) version(ctx context.Context, uri string, at time.Time) (resourcesync.Change, error) {
	var from record = versionJournal{journal{st}}
	since, _, err := from.stat(ctx)
	if err != nil {
		return resourcesync.Change{}, err
	}
	missing := errMoment
	if at.Before(since) {
		missing = st.versionGone()
		if st.changeArchiver == nil {
			return resourcesync.Change{}, missing
		}
		from = changeArchive{st.changeArchiver} // whose lists link to versions, too
	}
	around := resourcesync.Interval{From: at.Add(-time.Microsecond), Until: at}
	for c, err := range from.changes(ctx, around, nil) {
		if err != nil {
			return resourcesync.Change{}, err
		}
		if c.Datetime.Equal(at) && c.Resource.URI == uri && c.Type != resourcesync.Deleted {
			c.Resource = c.Resource.Clone()
			return c, nil
		}
	}
	return resourcesync.Change{}, missing
}

// versionGone returns the error for a version that is no longer kept.
func (st *set) versionGone() error {
	return &goneError{index: st.url(kindChangeList, ""), reason: "the version is no longer kept"}
}
