package document

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// A State is all the data that determines a document. It is read before the content: a
// change in between may appear in the document, but the next request renders it again.
//
// The cache compares states. The entity tag, Last-Modified and the document's at follow
// from the state. Framework Notifications compare states without rendering documents.
type State struct {
	// Version differs between any two states of the data that the document shows. If
	// it is empty, the state is unknown, and each request renders the document again.
	Version string

	// Modified is the time of the newest change that the document shows: its
	// Last-Modified. It is zero if unknown.
	Modified time.Time

	// Count is the number of resources that the document shows or whose lists it lists. It is
	// negative if unknown.
	Count int64

	// Last is the datetime of the newest change in a Change List, or its from if it has none.
	// Covered is the interval of the Change List.
	Last    time.Time
	Covered resourcesync.Interval

	// whole is the version of the complete set when version was last found current. As
	// long as whole is the same, Stat need not be called for the range.
	whole atomic.Pointer[string]

	// closed means that the document covers a closed interval. It never changes as long
	// as record reaches back to the interval and no change has been erased.
	closed bool
	record Record
	erased time.Time

	// earlier is a document of an earlier state, or nil. It is set while the document is
	// rendered. parts are the parts of keys before they were read, if the set knows them.
	earlier *Document
	parts   []resourcesync.Part

	// Windows and Listed are what the document lists, if it is rendered in this state and
	// no later one: the windows of the journal, and the stats of the packages of a
	// Resource Dump.
	Windows []resourcesync.Interval
	Listed  []packages.Stats

	keys      resourcesync.Range    // of the resources that the document shows
	Partition *partition.Partition  // of the set, if the document lists its pages or packages
	Dump      *packages.ChangeDump  // of the journal, if the document lists its packages
	changes   resourcesync.Interval // that the document covers, if it is closed or has a dump
	rest      time.Time             // the document is not rendered again before this time, even after a change
}

// Kept reports whether a document in this state is cached.
func (st *State) Kept() bool { return st.closed || st.Version != "" }

// Immutable reports whether the document never changes: whether it is closed, and not of an
// archive, from which changes can be erased.
func (st *State) Immutable() bool {
	return st.closed && !st.Archived()
}

// Archived reports whether the document shows changes that the journal no longer has.
func (st *State) Archived() bool {
	_, archived := st.record.(ChangeArchive)
	return archived
}

// Dated reports whether Last-Modified identifies this state. The header counts in seconds, so
// another change may follow in the second of the newest change (RFC 9110, section 8.8.2.2).
func (st *State) Dated(now time.Time) bool {
	return st.Modified.Unix() > 0 && now.Sub(st.Modified) > 2*time.Second
}

// close sets st to the state of a document with the changes of r in iv. last is the datetime
// of the newest.
func (st *State) close(r Record, iv resourcesync.Interval, last time.Time) {
	st.closed, st.record, st.changes, st.Modified = true, r, iv, last
}

// stillClosed reports whether was is the state of a closed document and still current.
func (was *State) stillClosed(ctx context.Context) (bool, error) {
	if was == nil || !was.closed {
		return false, nil
	}
	since, erased, err := was.record.Stat(ctx)
	return err == nil && !since.After(was.changes.From) && erased.Equal(was.erased), err
}

// PartitionState returns the state of an index of p, or was if that is still current.
func PartitionState(p *partition.Partition, was *State) *State {
	if was != nil && was.Partition != nil && was.Partition.Number == p.Number {
		return was
	}
	// There is no Last-Modified, because a partition has no time.
	st := &State{Version: fmt.Sprint("partition ", p.Number), Partition: p}
	for i := range p.Cuts { // zero in all if unknown
		st.Count += int64(p.Cuts[i].Count)
	}
	return st
}

// ErrMoved means that the state of a document has changed while it was rendered.
var ErrMoved = errors.New("the division of the set or its journal changed during rendering")

// Gone means that a document no longer exists, and that a client should continue at its
// index.
type Gone struct {
	Index  string // URI
	Reason string
}

func (e *Gone) Error() string { return e.Reason }

// A Document is a rendered document, and the state that it shows. It is immutable.
type Document struct {
	render.Text
	State *State
	Index bool // it lists documents
}

// Tag returns a digest of the document for entity tags.
func (d *Document) Tag() string { return base64.RawURLEncoding.EncodeToString(d.Sum[:16]) }

// Cost returns the number of bytes that d takes in memory.
func (d *Document) Cost() int64 { return d.Memory() + partsMemory(d.State.parts) }
