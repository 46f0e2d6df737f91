package sqltable

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/uritemplate"
)

// A reader decodes resources from rows. All text of a resource becomes one string, its
// only allocation.
type reader struct {
	rel      *relation
	resource resourcesync.Resource
	key      []byte // the last
	text     []byte // of the resource being read
	value    []byte
	hashes   []resourcesync.Hash
	ends     []int // of the digests in text

	omitted Omitted
	note    func(row bool, err error) // of rows and values that are omitted
}

func newReader(rel *relation, note func(row bool, err error)) *reader {
	return &reader{rel: rel, note: note}
}

// read decodes row into d.resource. It reports false if no document can list the row.
func (d *reader) read(row rowdb.Row) (ok bool, err error) {
	f := &d.rel.fields
	d.text, err = d.rel.key().appendKey(d.text[:0], row, 0)
	_, tooLarge := errors.AsType[*keyError](err)
	if err != nil && !tooLarge {
		return false, err
	}
	if tooLarge {
		d.omitted.Rows++
		d.note(true, err)
		if len(d.text) == 0 { // an integer, which is after all others
			return false, nil
		}
	}
	if bytes.Compare(d.text, d.key) <= 0 {
		return false, orderError(d.text, d.key)
	}
	if tooLarge {
		d.key = append(d.key[:0], d.text...)
		return false, nil
	}
	d.key = append(d.key[:0], d.text...)
	keyEnd := len(d.text)
	d.appendURI(row)
	uriEnd := len(d.text)
	if f.mediaType.at >= 0 {
		d.text = row.Append(d.text, f.mediaType.at)
	}
	typeEnd := len(d.text)
	d.ends = d.ends[:0]
	for i := range f.hashes {
		d.appendHash(row, &f.hashes[i])
		d.ends = append(d.ends, len(d.text))
	}

	all := string(d.text)
	d.resource = resourcesync.Resource{
		Key:    all[:keyEnd],
		URI:    all[keyEnd:uriEnd],
		Type:   all[uriEnd:typeEnd],
		Hashes: d.makeHashes(all, typeEnd),
	}
	if f.lastModified.at >= 0 {
		if d.resource.LastModified = d.time(row, f.lastModified); !isTime(d.resource.LastModified) {
			d.omit("time", row, f.lastModified)
			d.resource.LastModified = time.Time{}
		}
	}
	if f.length.at >= 0 && !row.Null(f.length.at) {
		if n, ok := integer(row, f.length); ok && n < maxLength {
			d.resource.Length = resourcesync.Bytes(n)
		} else {
			d.omit("length", row, f.length)
		}
	}
	return true, nil
}

// omit notes that no document can state a value of the row.
func (d *reader) omit(what string, row rowdb.Row, f field) {
	d.omitted.Fields++
	d.note(false, fmt.Errorf("row %q: no document can state the %s in column %q", d.key, what, f.Name))
}

// integer returns the integer in a column. It reports false if that is beyond the range of
// an int64.
func integer(row rowdb.Row, f field) (int64, bool) {
	if !f.Unsigned {
		return row.Int(f.at), true
	}
	n, err := strconv.ParseInt(rowdb.String(row, f.at), 10, 64)
	return n, err == nil
}

// orderError returns the error for a key that is not greater than the one before it.
func orderError[K string | []byte](key, last K) error {
	return fmt.Errorf("key %q comes after %q: keys must be unique and in the order of their bytes", key, last)
}

func (d *reader) appendURI(row rowdb.Row) {
	t := d.rel.template
	d.text = append(d.text, t.Literals[0]...)
	for i, v := range t.Variables {
		f := &d.rel.fields.values[i]
		switch f.Kind {
		case engine.Integer:
			if f.Unsigned {
				d.text = row.Append(d.text, f.at)
				break
			}
			d.text = strconv.AppendInt(d.text, row.Int(f.at), 10)
		case engine.UUID:
			d.value = row.Append(d.value[:0], f.at)
			d.text = appendUUID(d.text, d.value)
		default:
			if v.Reserved {
				d.text = row.Append(d.text, f.at)
				break
			}
			d.value = row.Append(d.value[:0], f.at)
			d.text = uritemplate.AppendEscaped(d.text, d.value, "")
		}
		d.text = append(d.text, t.Literals[i+1]...)
	}
}

// appendHash appends a digest, or a list of hashes, in lower case.
func (d *reader) appendHash(row rowdb.Row, h *hashField) {
	if row.Null(h.at) {
		return
	}
	start := len(d.text)
	if h.Kind == engine.Binary && h.algorithm != "" {
		d.value = row.Append(d.value[:0], h.at)
		d.text = hex.AppendEncode(d.text, d.value)
		return
	}
	d.text = row.Append(d.text, h.at)
	for i, c := range d.text[start:] {
		if 'A' <= c && c <= 'Z' {
			d.text[start+i] += 'a' - 'A'
		}
	}
}

// makeHashes returns the hashes whose text begins at start in all.
func (d *reader) makeHashes(all string, start int) []resourcesync.Hash {
	d.hashes = d.hashes[:0]
	for i, end := range d.ends {
		switch algorithm := d.rel.fields.hashes[i].algorithm; {
		case start == end:
		case algorithm == "":
			// Text that is not a list of hashes states none.
			d.hashes, _ = resourcesync.AppendHashes(d.hashes, all[start:end])
		default:
			d.hashes = append(d.hashes, resourcesync.Hash{Algorithm: algorithm, Digest: all[start:end]})
		}
		start = end
	}
	return d.hashes
}

// time returns the time in a column, or the zero time if the value is not a time.
func (d *reader) time(row rowdb.Row, f field) time.Time {
	if row.Null(f.at) {
		return time.Time{}
	}
	switch f.Kind {
	case engine.Instant:
		return fromEpoch(row.Int(f.at))
	case engine.Date:
		days := row.Int(f.at)
		if days == math.MinInt32 || days == math.MaxInt32 {
			return time.Time{} // infinity
		}
		return time.Unix(engine.Epoch/1e6+days*24*60*60, 0).UTC()
	case engine.Integer:
		n, ok := integer(row, f)
		if !ok {
			n = math.MaxInt64
		}
		return fromUnit(n, d.rel.table.unit())
	}
	d.value = row.Append(d.value[:0], f.at)
	if n, err := strconv.ParseInt(string(d.value), 10, 64); err == nil && len(d.value) != len("2026") {
		return fromUnit(n, d.rel.table.unit())
	}
	return parseTime(d.value)
}

// fromEpoch returns the time that is micros after engine.Epoch.
func fromEpoch(micros int64) time.Time {
	if micros == math.MinInt64 || micros == math.MaxInt64 {
		return time.Time{} // infinity
	}
	return time.UnixMicro(micros + engine.Epoch).UTC()
}

func fromUnit(n int64, unit time.Duration) time.Time {
	perSecond := int64(time.Second / unit)
	return time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC()
}

// parseTime parses RFC 3339 and the forms that databases use instead: a space for the
// T, no time for midnight, and no zone for UTC. It overwrites b.
func parseTime(b []byte) (t time.Time) {
	if len(b) == len(time.DateOnly) {
		b = append(b, "T00:00:00"...)
	}
	if len(b) < len("2006-01-02T15:04:05") {
		return time.Time{}
	}
	b[10] = 'T'
	if !strings.ContainsAny(string(b[19:]), "Zz+-") {
		b = append(b, 'Z')
	}
	if err := t.UnmarshalText(b); err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// timesTried is the number of rows whose LastModified is checked.
const timesTried = 1000

// checkTimes returns an error if LastModified is a column of text, or of SQLite's
// dynamic type, and one of the first rows of the set has text that is not a time. Such a
// column may hold anything, and a title that happens to look like a time would be
// published as one. NULL and empty text state no time. A value of a later row that is not
// a time is omitted.
func (p *Set) checkTimes(ctx context.Context) error {
	rel := p.rel
	f := rel.fields.lastModified
	if f.at < 0 || f.Kind != engine.Text && f.Kind != engine.Label && f.Kind != engine.Dynamic {
		return nil
	}
	read := newReader(rel, nil)
	times, others, sample := 0, 0, ""
	err := p.inOrder(ctx, fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT %d",
		f.ReadRef(), rel.From, engine.Where(rel.Filter), rel.Order, timesTried), func(row rowdb.Row) error {
		switch value := rowdb.String(row, 0); {
		case value == "":
		case !read.time(row, field{f.Column, 0}).IsZero():
			times++
		default:
			if others == 0 {
				sample = value
			}
			others++
		}
		return nil
	})
	if err != nil || others == 0 {
		return err
	}
	advice := "name a column of times, of text like 2026-03-01T12:00:00Z, or of integers that count Units since 1970"
	if times > 0 {
		advice = "correct these values, set them to NULL, or " + advice
	}
	return fmt.Errorf("column %q cannot be LastModified: %d of its first %d values cannot be read as times, such as %.50q; %s", f.Name, others, times+others, sample, advice)
}
