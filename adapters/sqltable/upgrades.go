package sqltable

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/uritemplate"
)

// coversTimeout limits the delay that Covers adds to a request of the host.
const coversTimeout = time.Second

// Covers implements [resourcesync.Coverer]. It reports whether a resource has a URI
// with the same decoded path and the same query, on any scheme and host. It looks up
// URLs that match the template: by the key, if the template has it, and otherwise by
// the other columns. The host finds the page of this URL by the same columns, so an
// index for that helps here, too. If URIs are whole values of a column, Covers assumes
// the scheme and host of the first resource. While the database cannot be reached, it
// returns false.
func (p *Set) Covers(u *url.URL) bool {
	if p.rel.request == nil || u.Opaque != "" {
		return false
	}
	requested := cmp.Or(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		requested += "?" + u.RawQuery
	}
	ctx, cancel := context.WithTimeout(context.Background(), coversTimeout)
	defer cancel()
	if p.rel.template.isWhole() {
		requested = p.site(ctx) + requested
	}
	values := p.rel.request.FindStringSubmatch(requested)
	if values == nil {
		return false
	}
	condition, args, ok := p.lookup(values[1:])
	if !ok {
		return false
	}
	d := newReader(p.rel, func(bool, error) {})
	err := p.db.Query(ctx, "SELECT "+p.rel.List+" FROM "+p.rel.From+engine.Where(condition, p.rel.Filter), func(row rowdb.Row) error {
		d.key = d.key[:0]
		if ok, err := d.read(row); err != nil || !ok {
			return err
		}
		// The database may consider different texts equal.
		if found, err := url.Parse(d.resource.URI); err == nil && place(found) == place(u) {
			return rowdb.ErrStop
		}
		return nil
	}, args...)
	return err == rowdb.ErrStop
}

// site returns the scheme and host of the first resource.
func (p *Set) site(ctx context.Context) string {
	if site := p.firstSite.Load(); site != nil {
		return *site
	}
	for r, err := range p.Resources(ctx, resourcesync.Range{}) {
		u, parseErr := url.Parse(r.URI)
		if err != nil || parseErr != nil {
			break
		}
		site := u.Scheme + "://" + u.Host
		p.firstSite.Store(&site)
		return site
	}
	return ""
}

// lookup returns the condition that a row has these values of the template's variables.
// If the key is among the variables, it is enough.
func (p *Set) lookup(values []string) (condition string, args []any, ok bool) {
	variables := p.rel.template.Variables
	byKey := slices.ContainsFunc(variables, func(v uritemplate.Variable) bool { return v.Name == p.rel.Key.Name })
	for i, v := range variables {
		c := p.rel.fields.values[i].Column
		if byKey && v.Name != p.rel.Key.Name {
			continue
		}
		value := values[i]
		if !v.Reserved {
			var err error
			if value, err = url.PathUnescape(value); err != nil {
				return "", nil, false
			}
		}
		ref, k := c.Ref, c.Kind
		var arg any = value
		switch k {
		case engine.Integer:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return "", nil, false
			}
			arg = n
		case engine.Binary:
			arg = []byte(value)
		case engine.Label, engine.Dynamic:
			k = engine.Text
		}
		if v.Name == p.rel.Key.Name {
			ref = p.rel.Order
		}
		args = append(args, arg)
		condition = engine.And(condition, ref+" = "+p.db.Parameter(len(args), k))
	}
	return condition, args, true
}

// Stater returns a Stater for a table with LastModified, to be set beside it:
//
//	rshttp.Set{Provider: articles, Stater: stater}
//
// It is not part of the Set because it does not suit every table. Its Version
// consists of the number of resources and the newest LastModified (and Deleted), so it
// sees only changes that move one of them. It misses a row that changes without a new
// LastModified, and a row that is removed while an older one is added. If the set has a
// journal, use the Stater of the journal instead.
//
// Stat counts the range by the index of the key, and each request counts the whole set.
// That takes some hundredths of a second for a million rows, if one index has all
// columns: in PostgreSQL, CREATE INDEX ON articles (id) INCLUDE (updated_at,
// deleted_at); elsewhere, an index on the three.
//
// LastModified is known if Deleted is a column of times. If rows are removed instead,
// the table does not have the time of the newest change.
func (p *Set) Stater() (resourcesync.Stater, error) {
	if p.rel.table.LastModified == "" {
		return nil, p.fail("stat", errors.New("a Stater needs the column LastModified"))
	}
	s := &stater{Set: p}
	count := "count(*)"
	list := ", max(" + p.rel.fields.lastModified.ReadRef() + ")"
	s.lastModified = field{p.rel.fields.lastModified.Column, 1}
	if p.rel.table.Deleted != "" {
		c, _ := p.rel.column("Deleted", p.rel.table.Deleted)
		count = "count(CASE WHEN " + p.rel.live + " THEN 1 END)"
		if c.Kind != engine.Boolean {
			s.deleted = field{c, 2}
			list += ", max(" + c.ReadRef() + ")"
		}
		s.knowsDeletions = c.Kind != engine.Boolean && c.Kind != engine.Integer
	}
	s.list = count + list
	return s, nil
}

type stater struct {
	*Set
	list                  string
	lastModified, deleted field
	knowsDeletions        bool
}

// Stat implements [resourcesync.Stater]. It is one statement.
func (s *stater) Stat(ctx context.Context, r resourcesync.Range) (st resourcesync.Stat, err error) {
	b := s.rel.key().bounds(r)
	if b.none {
		return resourcesync.Stat{Version: "0"}, ctx.Err()
	}
	inside, args := s.within(b)
	d := newReader(s.rel, nil)
	err = s.db.Query(ctx, "SELECT "+s.list+" FROM "+s.rel.From+engine.Where(inside, s.rel.member), func(row rowdb.Row) error {
		st.Count = row.Int(0)
		newest := d.time(row, s.lastModified)
		version := strconv.AppendInt(nil, st.Count, 36)
		version = appendMicros(version, newest)
		if s.deleted.Column != nil {
			deleted := d.time(row, s.deleted)
			version = appendMicros(version, deleted)
			if deleted.After(newest) {
				newest = deleted
			}
		}
		st.Version = string(version)
		// A change cannot have a time in the future.
		if s.knowsDeletions && newest.Before(time.Now()) {
			st.LastModified = newest
		}
		return nil
	}, args...)
	return st, s.fail("stat", err)
}

func appendMicros(dst []byte, t time.Time) []byte {
	dst = append(dst, '.')
	if t.IsZero() {
		return dst
	}
	return strconv.AppendInt(dst, t.UnixMicro(), 36)
}
