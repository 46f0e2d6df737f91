package render

import (
	"log/slog"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Omitted counts the entries or fields that a document cannot express, and describes
// the first of them.
type Omitted struct {
	N      int
	key    string
	uri    string
	reason error // why the first was omitted
}

// Add counts the entry of the resource with this key and URI.
func (o *Omitted) Add(key, uri string, reason error) {
	if o.N++; o.N == 1 {
		o.key, o.uri, o.reason = key, uri, reason
	}
}

// addFields counts n fields of e.
func (o *Omitted) addFields(n int, h *rsxml.Head, e *rsxml.Entry) {
	if o.N += n; o.reason == nil {
		o.uri, o.reason = e.Loc, rsxml.CheckEntry(h, e)
	}
}

// First describes the first omission in a log.
func (o *Omitted) First() slog.Attr {
	first := []any{slog.String("uri", o.uri), slog.Any("reason", o.reason)}
	if o.key != "" {
		first = append(first, slog.String("key", o.key))
	}
	return slog.Group("first", first...)
}
