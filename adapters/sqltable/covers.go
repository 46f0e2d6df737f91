package sqltable

import (
	"cmp"
	"context"
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
