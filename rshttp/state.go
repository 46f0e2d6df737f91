package rshttp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// A state is all the data that determines a document. It is read before the content: a
// change in between may appear in the document, but the next request renders it again.
//
// The cache compares states. The entity tag, Last-Modified and the document's at follow
// from the state. Framework Notifications compare states without rendering documents.
type state struct {
	// version differs between any two states of the data that the document shows. If
	// it is empty, the state is unknown, and each request renders the document anew.
	version string

	// modified is the time of the newest change that the document shows: its
	// Last-Modified. It is zero if unknown.
	modified time.Time

	// last is the datetime of the newest change in a Change List, or its from if it has none.
	last time.Time

	// whole is the version of the complete set when version was last found current. As
	// long as whole is the same, Stat need not be called for the range.
	whole atomic.Pointer[string]

	// closed means that the document covers a closed interval. It never changes as long
	// as record reaches back to the interval and no change has been erased.
	closed bool
	record record
	erased time.Time

	// earlier is a document of an earlier state, or nil. It is set while the document is
	// rendered. parts are the parts of keys as the document shows them, if the set knows
	// them; a part that may have changed while it was read has no version.
	earlier *document
	parts   []resourcesync.Part

	keys      resourcesync.Range    // of the resources that the document shows
	partition *partition.Partition  // of the set, if the document lists its pages or packages
	dump      *packages.ChangeDump  // of the journal, if the document lists its packages
	changes   resourcesync.Interval // that the document covers, if it is closed or has a dump
	rest      time.Time             // the document is not rendered again before this time, even after a change
}

// kept reports whether a document in this state is cached.
func (st *state) kept() bool { return st.closed || st.version != "" }

// immutable reports whether the document never changes: whether it is closed, and not of an
// archive, from which changes can be erased.
func (st *state) immutable() bool {
	_, archived := st.record.(changeArchive)
	return st.closed && !archived
}

// dated reports whether Last-Modified identifies this state. The header counts in seconds, so
// another change may follow in the second of the newest change (RFC 9110, section 8.8.2.2).
func (st *state) dated(now time.Time) bool {
	return st.modified.Unix() > 0 && now.Sub(st.modified) > 2*time.Second
}

// close sets st to the state of a document with the changes of r in iv. last is the datetime
// of the newest.
func (st *state) close(r record, iv resourcesync.Interval, last time.Time) {
	st.closed, st.record, st.changes, st.modified = true, r, iv, last
}

// stillClosed reports whether was is the state of a closed document and still current.
func (was *state) stillClosed(ctx context.Context) (bool, error) {
	if was == nil || !was.closed {
		return false, nil
	}
	since, erased, err := was.record.stat(ctx)
	return err == nil && !since.After(was.changes.From) && erased.Equal(was.erased), err
}

// statOf describes the resources in keys. The result is zero without a Stater.
func statOf(ctx context.Context, stater resourcesync.Stater, keys resourcesync.Range) (resourcesync.Stat, error) {
	if stater == nil {
		return resourcesync.Stat{}, nil
	}
	return stater.Stat(ctx, keys)
}

// resourceState returns the state of the resources in keys, or was if that is still
// current. It reads the version of the complete set and, only if that has changed, that of keys.
func (st *set) resourceState(ctx context.Context, keys resourcesync.Range, was *state) (*state, error) {
	whole, err := statOf(ctx, st.Stater, partition.Whole)
	if err != nil || was != nil && whole.Version != "" && whole.Version == *was.whole.Load() {
		return was, err
	}
	stat := whole
	if keys != partition.Whole {
		if stat, err = statOf(ctx, st.Stater, keys); err != nil {
			return nil, err
		}
	}
	if was != nil && stat.Version != "" && stat.Version == was.version {
		was.whole.Store(&whole.Version)
		return was, nil
	}
	now := newResourceState(keys, stat)
	now.whole.Store(&whole.Version)
	return now, nil
}

func newResourceState(keys resourcesync.Range, stat resourcesync.Stat) *state {
	st := newState(stat)
	st.keys = keys
	if st.modified.After(time.Now()) {
		st.modified = time.Time{} // changes up to that time may follow
	}
	return st
}

func newState(stat resourcesync.Stat) *state {
	st := &state{version: stat.Version, modified: stat.LastModified}
	st.whole.Store(&st.version)
	return st
}

// rangeState reads the state of a document about a range of keys. The document is not cached
// if the set is not divided into that range: clients can request any range, and must not
// displace listed documents.
func rangeState(ctx context.Context, t target, was *state) (*state, error) {
	r, ok := partition.ParseRange(t.part)
	if !ok {
		return nil, t.notExist("a range of keys")
	}
	listed := t.kind.ranges(t.set).Lists(r)
	st, err := t.set.resourceState(ctx, r, was)
	if err == nil && st != was && !listed {
		st.version = ""
	}
	return st, err
}

// isRange reports whether t names a range into which the set is divided. It also returns
// true if t names no range, because such a request costs nothing.
func isRange(t target) bool {
	r, ok := partition.ParseRange(t.part)
	return !ok || t.kind.ranges(t.set).Lists(r)
}

// journalState reads the state of a document with changes of the journal. Rendering
// determines whether the document is closed.
func journalState(ctx context.Context, t target, was *state) (*state, error) {
	if closed, err := was.stillClosed(ctx); err != nil || closed {
		return was, err
	}
	stat, err := statOf(ctx, t.set.changeStater, partition.Whole)
	if err != nil {
		return nil, err
	}
	if was != nil && !was.closed && stat.Version != "" && stat.Version == was.version {
		return was, nil
	}
	return newState(stat), nil
}

// partitionState returns the state of an index of p, or was if that is still current.
func partitionState(p *partition.Partition, was *state) *state {
	if was != nil && was.partition != nil && was.partition.Number == p.Number {
		return was
	}
	// There is no Last-Modified: the partition has no time of its own.
	return &state{version: fmt.Sprint("partition ", p.Number), partition: p}
}

// errMoved means that the state of a document has changed while it was rendered.
var errMoved = errors.New("the division of the set or its journal has changed meanwhile")

// goneError means that a document no longer exists, and that a client should continue at its
// index.
type goneError struct {
	index  string // URI
	reason string
}

func (e *goneError) Error() string { return e.reason }
