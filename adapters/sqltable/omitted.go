package sqltable

import (
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// Omitted counts the rows of a table that no document lists, and the values that none states.
type Omitted struct {
	// Rows are those that no document lists: their keys have more than
	// resourcesync.MaxKeyLength bytes or are integers beyond 63 bits, or, for a Listing,
	// their URIs are not valid.
	Rows int64 `json:"rows,omitempty"`

	// Fields are the lengths of nearly 2⁶³ or more, and the times outside of the years 0 to
	// 9999. The rows are listed without them.
	Fields int64 `json:"fields,omitempty"`
}

// maxLength is the least length that a resource cannot have.
const maxLength = math.MaxInt64

// isTime reports whether a document can state t.
func isTime(t time.Time) bool {
	s := t.Unix()
	return engine.FirstTime <= s && s <= engine.LastTime
}

// An omissions counts the omissions in the last reading of each part of a table. It is safe
// for concurrent use.
type omissions struct {
	mu     sync.Mutex
	log    *slog.Logger // nil for slog.Default()
	logged [2]bool      // the first row, the first field
	parts  []omittedPart
}

type omittedPart struct {
	resourcesync.Range
	Omitted
}

// maxParts is the number of parts that are counted by themselves.
const maxParts = 1000

// add replaces the omissions of a range.
func (o *omissions) add(r resourcesync.Range, n Omitted) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.parts[:0]
	for _, p := range o.parts {
		if p.To != "" && p.To <= r.From || r.To != "" && r.To <= p.From {
			kept = append(kept, p)
		}
	}
	if o.parts = kept; n != (Omitted{}) && len(kept) < maxParts {
		o.parts = append(kept, omittedPart{r, n})
	}
}

func (o *omissions) sum() (n Omitted) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.parts {
		n.Rows += p.Rows
		n.Fields += p.Fields
	}
	return n
}

// note logs the first row, or the first field, that is omitted.
func (o *omissions) note(table string, row bool, err error) {
	o.mu.Lock()
	kind, message := 1, "fields of rows are omitted: no document can state their values"
	if row {
		kind, message = 0, "rows are left out: no document can list them"
	}
	logged, log := o.logged[kind], o.log
	o.logged[kind] = true
	o.mu.Unlock()
	if logged {
		return
	}
	if log == nil {
		log = slog.Default()
	}
	log.Warn(message, "table", table, "first", err)
}

// Omitted counts what the documents of the table omit, as far as this process has read its
// rows, as it does for a Resource List. The log names the first row and the first field.
func (p *Set) Omitted() Omitted { return p.omitted.sum() }
