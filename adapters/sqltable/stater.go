package sqltable

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

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
