package document

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A version of a resource is identified by the datetime of the change that produced it and
// by the URI of the resource. Both are in the query of its URL, because proxies rewrite
// paths that contain a URI.
const (
	ParamDatetime = "datetime"
	ParamURI      = "uri"
)

// ErrMoment means that a journal has no version of the resource at the datetime.
var ErrMoment = fmt.Errorf("no version of this resource at this datetime: %w", fs.ErrNotExist)

// mementoURL returns the URL of the version of uri after the change at t.
func (st *Set) mementoURL(uri string, t time.Time) string {
	return st.URL(kindMemento, "") + "?" + ParamDatetime + "=" + partition.FormatTime(t) + "&" + ParamURI + "=" + url.QueryEscape(uri)
}

// withVersions returns a function that adds to the entries of st's Change Lists the links to
// the versions after the changes (section 14.6), or nil.
func (st *Set) withVersions() func(*resourcesync.Change, *rsxml.Entry) {
	if !st.Memento {
		return nil
	}
	isMemento := func(l resourcesync.Link) bool { return l.Rel == resourcesync.RelMemento }
	var links []resourcesync.Link
	return func(c *resourcesync.Change, e *rsxml.Entry) {
		if c.Type == resourcesync.Deleted || slices.ContainsFunc(e.Links, isMemento) {
			return // an entry has one at most, and a host's own comes first
		}
		if st.linker != nil && !st.linker.Linked(c.Datetime) {
			return
		}
		links = append(append(links[:0], e.Links...), resourcesync.Link{
			Rel:      resourcesync.RelMemento,
			Href:     st.mementoURL(c.Resource.URI, c.Datetime),
			Modified: c.Resource.LastModified,
			Hashes:   c.Resource.Hashes,
			Length:   c.Resource.Length,
			Type:     c.Resource.Type,
			Encoding: c.Resource.Encoding,
		})
		e.Links = links
	}
}

// Version returns the change of uri at the time at.
func (st *Set) Version(ctx context.Context, uri string, at time.Time) (resourcesync.Change, error) {
	var from Record = versionJournal{Journal{st}}
	since, _, err := from.Stat(ctx)
	if err != nil {
		return resourcesync.Change{}, err
	}
	missing := ErrMoment
	if at.Before(since) {
		missing = st.VersionGone()
		if st.ChangeArchiver == nil {
			return resourcesync.Change{}, missing
		}
		from = ChangeArchive{st.ChangeArchiver} // whose lists link to versions, too
	}
	around := resourcesync.Interval{From: at.Add(-time.Microsecond), Until: at}
	for c, err := range from.Changes(ctx, around, nil) {
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

// VersionGone returns the error for a version that is no longer kept.
func (st *Set) VersionGone() error {
	return &Gone{Index: st.URL(KindChangeList, ""), Reason: "the version is no longer kept"}
}
