package sqltable

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/providertest"
)

// filled creates the table for the suite of providertest.
func filled(d *database, key string, resources []resourcesync.Resource, soft bool) (Table, *providertest.Options) {
	d.run("CREATE TABLE IF NOT EXISTS papers (k {"+key+"} NOT NULL PRIMARY KEY, uri {plain} NOT NULL, at {time}, bytes {int}, kind {plain}, sums {plain}, gone {time})", "DELETE FROM papers")
	table := Table{
		Name: "papers", Key: "k", URI: "{+uri}", LastModified: "at",
		Length: "bytes", Type: "kind", Hashes: map[string]string{"": "sums"},
	}
	if soft {
		table.Deleted = "gone"
	}
	put := func(_ context.Context, resources ...resourcesync.Resource) error {
		for _, r := range resources {
			if err := d.exec("DELETE FROM papers WHERE k = $1", d.key(key, r.Key)); err != nil {
				return err
			}
		}
		return d.insert(key, resources)
	}
	must(d.t, d.insert(key, resources))
	clock := time.Now().Add(-time.Hour).Truncate(time.Second)
	return table, &providertest.Options{
		Put: put,
		Delete: func(_ context.Context, keys ...string) error {
			for _, k := range keys {
				var err error
				if soft {
					clock = clock.Add(time.Second)
					err = d.exec("UPDATE papers SET gone = $1 WHERE k = $2", d.time(clock), d.key(key, k))
				} else {
					err = d.exec("DELETE FROM papers WHERE k = $1", d.key(key, k))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		Equal: func(got, want resourcesync.Resource) bool {
			want.ChangeFreq, want.Encoding, want.Stamp, want.Links, want.Attrs = "", "", "", nil, nil
			return got.Equal(want)
		},
	}
}

// key converts key to a value of a key column of a kind.
func (d *database) key(kind, key string) any {
	if kind == "bytes" {
		return []byte(key)
	}
	return key
}

// time converts t to a value of a {time} column.
func (d *database) time(t time.Time) any {
	if d.name == "postgres" {
		return t
	}
	return t.UTC().Format("2006-01-02 15:04:05.999999")
}

func (d *database) insert(kind string, resources []resourcesync.Resource) error {
	return d.all("INSERT INTO papers (k, uri, at, bytes, kind, sums) VALUES ($1, $2, $3, $4, $5, $6)", len(resources), func(i int) []any {
		r := &resources[i]
		args := []any{d.key(kind, r.Key), r.URI, nil, nil, nil, nil}
		if !r.LastModified.IsZero() {
			args[2] = d.time(r.LastModified)
		}
		if n, known := r.Length.Bytes(); known {
			args[3] = n
		}
		if r.Type != "" {
			args[4] = r.Type
		}
		if len(r.Hashes) > 0 {
			var sums []string
			for _, h := range r.Hashes {
				sums = append(sums, h.String())
			}
			args[5] = strings.Join(sums, " ")
		}
		return args
	})
}

// TestProvider runs the contract on kinds of keys that can have any value, with rows
// that are deleted and with rows that are marked as deleted.
func TestProvider(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		engine func(testing.TB) *database
		key    string
		soft   bool
	}{
		{postgresDatabase, "text", true},
		{postgresDatabase, "bytes", false},
		{sqliteDatabase, "text", false},
		{mysqlDatabase, "bytes", true},
	} {
		name := "vanish"
		if tt.soft {
			name = "marked"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tt.engine(t)
			t.Run(d.name+" "+tt.key, func(t *testing.T) {
				providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
					d.t = t
					table, opts := filled(d, tt.key, resources, tt.soft)
					p := d.provider(table)
					stater, err := p.Stater()
					must(t, err)
					opts.Stater = stater
					return p, opts
				})
			})
		})
	}
}
