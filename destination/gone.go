package destination

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// goneAfter is the time for which a Source must not name a set before its resources can be deleted, and
// after which a second answer of 404 or 410 confirms that a resource is gone.
const goneAfter = time.Hour

// asksEarly is the maximum number of resources that a run requests again although two answers have said
// that they are gone. The others wait.
const asksEarly = 100

// A GoneSet is a set that the Source no longer names, and whose resources the copy keeps.
// They are deleted by a Sync with a MaxDelete of 1, if a Source Description that was read at
// least an hour before did not name the set either, and its Capability List is gone or can
// still be read. A set that is named again keeps its resources.
type GoneSet struct {
	URI       string `json:"uri"`       // of its Capability List
	Resources int64  `json:"resources"` // that no other set has

	// Held means that a Sync with a MaxDelete of 1 deletes the resources. Otherwise Reason
	// states why not yet, and After, if it is not zero, the time from which a Sync can decide.
	Held   bool      `json:"held"`
	Reason string    `json:"reason,omitempty"`
	After  time.Time `json:"after,omitzero"`
}

// nameSets records which documents lead to the sets of the Source.
func (r *run) nameSets(ctx context.Context, sets []tree.Set) error {
	return r.state.Write(ctx, func() error {
		for _, set := range sets {
			if err := r.state.Found(set.URI, set.Named); err != nil {
				return err
			}
		}
		return nil
	})
}

// goneSets reports the sets that the Source no longer names, or notes the deletion of their
// resources. All others have been read, unless some have failed.
func (r *run) goneSets(ctx context.Context, failed bool) error {
	all, err := r.state.GoneSets()
	if err != nil {
		return err
	}
	r.gone = make(map[string]bool)
	for _, g := range all {
		now := time.Now()
		counts := r.isDecisive(g)
		if counts && g.Missed.IsZero() {
			g.Missed = now
			if err := r.state.Write(ctx, func() error { return r.state.Missed(g.URI, now) }); err != nil {
				return err
			}
		}
		told, err := r.judge(g, counts)
		if err != nil {
			return err
		}
		if told.Held {
			if told.Held, told.Reason, err = r.isGone(ctx, g.URI); err != nil {
				return err
			}
		}
		if told.Held && !failed && (r.limits.HoldNothing() || told.Resources == 0) {
			if err := r.state.Write(ctx, func() error { return r.state.DeleteSet(g.URI) }); err != nil {
				return err
			}
			continue
		}
		if told.Resources == 0 {
			continue
		}
		if told.Held {
			r.report.Held += told.Resources
			r.gone[told.URI] = true
		}
		if len(r.report.Gone) < samples {
			r.log.Warn("the Source no longer names a set, and its resources are kept", "set", sparse.Clip(told.URI), "resources", told.Resources, "held", told.Held, "reason", told.Reason)
			r.report.Gone = append(r.report.Gone, told)
		}
	}
	return nil
}

// isDecisive reports whether the documents that have been read would name a set if it existed.
func (r *run) isDecisive(g state.GoneSet) bool {
	for _, set := range r.sets {
		if set.Described || set.Named == g.Named {
			return true
		}
	}
	return false
}

// judge returns the report of a set that can be made without a request.
func (r *run) judge(g state.GoneSet, decisive bool) (GoneSet, error) {
	n, err := r.state.Only(g.URI)
	told := GoneSet{URI: g.URI, Resources: n}
	switch after := g.Missed.Add(goneAfter); {
	case !decisive:
		told.Reason = fmt.Sprintf("%s, which named it, does not lead to any set now", g.Named)
	case g.Missed.IsZero():
		told.Reason = "no run has found out yet whether it is gone"
	case time.Now().Before(after):
		told.After = after.UTC()
		told.Reason = fmt.Sprintf("it may come back until %s", timetext.Of(told.After))
	default:
		told.Held = true
	}
	return told, err
}

// isGone reports whether the Capability List of a set that the Source does not name is gone, or can
// be read. Otherwise, the reason says why that is unknown.
func (r *run) isGone(ctx context.Context, uri string) (gone bool, reason string, err error) {
	d, err := r.reader.Open(ctx, uri, fetch.Validators{})
	if err == nil {
		d.Close()
	}
	switch {
	case err == nil, fetch.IsStatus(err, http.StatusNotFound, http.StatusGone):
		return true, "", nil
	case ctx.Err() != nil:
		return false, "", ctx.Err()
	}
	return false, fmt.Sprintf("its Capability List cannot be read: %v", err), nil
}
