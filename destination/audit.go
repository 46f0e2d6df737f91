package destination

import (
	"context"
	"errors"
	"fmt"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// An AuditReport is the result of [Destination.Audit]. Each resource is counted once, as Damaged
// rather than as anything else. Each count has the URIs of some of the first resources.
type AuditReport struct {
	// Listed is the number of entries of the Resource Lists, and Same that of resources
	// of which the copy shows the listed version.
	Listed int64 `json:"listed"`
	Same   int64 `json:"same"`

	Missing Found `json:"missing"` // the Source lists them, the copy lacks them
	Differs Found `json:"differs"` // the copy shows another version
	Extra   Found `json:"extra"`   // the copy has them, the Source does not list them
	Damaged Found `json:"damaged"` // the Sink has other content than it was given, or none

	// Held is the number of extra resources whose deletion is held; see [Options].MaxDelete.
	// Gone has the first of the sets that the Source does not name any more. Their resources
	// are extra, too.
	Held int64     `json:"held,omitempty"`
	Gone []GoneSet `json:"gone,omitempty"`

	Deviations int64       `json:"deviations,omitempty"`
	Deviating  []Deviation `json:"deviating,omitempty"` // see [Report]
}

// Found holds the findings of an audit of one kind.
type Found struct {
	Count int64    `json:"count"`
	URIs  []string `json:"uris,omitempty"`
}

func (f *Found) add(uri string) {
	if f.Count++; len(f.URIs) < samples {
		f.URIs = append(f.URIs, uri)
	}
}

// InSync reports whether the audit has found no difference.
func (a *AuditReport) InSync() bool {
	return a.Missing.Count+a.Differs.Count+a.Extra.Count+a.Damaged.Count == 0
}

// Audit compares the copy with the Resource Lists of the Source (section 5.2), and, if the
// Sink is a [Verifier], the contents of the Sink with those that it was given. It requests no
// resources and does not change the copy. The next Sync fetches resources that are missing,
// differ or are damaged. It deletes extra ones when the Source does.
//
// A Source that changes during the audit differs from the copy: call Sync before.
func (d *Destination) Audit(ctx context.Context) (*AuditReport, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &audit{run: d.newRun()}
	err := a.audit(ctx)
	a.found.Deviations, a.found.Deviating = a.report.Deviations, a.report.Deviating
	if err != nil {
		err = fmt.Errorf("destination: %w", err)
	}
	return &a.found, err
}

// An audit is a running Audit.
type audit struct {
	*run
	copy     *state.Audit
	checking *verification // of the members that were compared last
	found    AuditReport
}

func (a *audit) audit(ctx context.Context) error {
	sets, err := a.discover(ctx)
	if err != nil {
		return err
	}
	a.sets = sets
	a.setsAre(sets)
	if err := a.goneSets(); err != nil {
		return err
	}
	if a.copy, err = a.state.Audit(); err != nil {
		return err
	}
	defer func() { a.checking.wait() }()
	var failed error
	for _, set := range sets {
		if len(set.Lists[resourcesync.ResourceList]) == 0 {
			return fmt.Errorf("%s has no Resource List to compare the copy with", set.URI)
		}
		w := walk{run: a.run, known: unconditional, visit: func(ctx context.Context, p *page) ([]rsxml.Entry, error) {
			return a.compare(ctx, set.URI, p)
		}}
		if err := w.all(ctx, set.Lists[resourcesync.ResourceList]); err != nil {
			return err
		}
		failed = errors.Join(failed, w.failed)
	}
	if failed != nil { // what is in no list that can be read may be in another one
		return errors.Join(failed, a.verify(ctx, nil))
	}
	err = a.copy.Unlisted(ctx, func(members []state.Member) error {
		compared := make([]compared, len(members))
		for i := range members {
			compared[i].Member = &members[i]
		}
		return a.verify(ctx, compared)
	})
	if err != nil {
		return err
	}
	return a.verify(ctx, nil)
}

// goneSets adds to the report what the last Sync has held.
func (a *audit) goneSets() error {
	gone, err := a.state.GoneSets()
	if err != nil {
		return err
	}
	for _, g := range gone {
		told, err := a.judge(g, a.isDecisive(g))
		if err != nil {
			return err
		}
		if told.Held {
			a.found.Held += told.Resources
		}
		if told.Resources > 0 && len(a.found.Gone) < samples {
			a.found.Gone = append(a.found.Gone, told)
		}
	}
	for _, set := range a.sets {
		st, err := a.state.Set(set.URI)
		if err != nil {
			return err
		}
		a.found.Held += st.Guard.Held
	}
	return nil
}

// A compared member of the copy. The result is 0 if no list has an entry for it.
type compared struct {
	*state.Member
	result state.Comparison
	listed *resourcesync.Resource // its entry, or nil
}

// compare compares the entries of a list with the copy. The contents of the members are
// verified while further entries are compared. It returns the parts of an index.
func (a *audit) compare(ctx context.Context, set string, p *page) ([]rsxml.Entry, error) {
	parsed := parse(p.Document)
	defer parsed.stop()
	for entries := range parsed.batches {
		members := make([]compared, 0, len(entries))
		err := a.state.Write(ctx, func() error {
			for i := range entries {
				entry := &state.Pending{Set: set, List: p.uri, At: p.at, Change: resourcesync.Change{Resource: resource(&entries[i])}}
				result, member, err := a.copy.Compare(entry)
				if err != nil {
					return err
				}
				if result == state.Missing {
					a.found.Missing.add(entries[i].Loc)
				} else if member != nil {
					members = append(members, compared{member, result, &entry.Change.Resource})
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		a.found.Listed += int64(len(entries))
		a.meter.Listed = a.found.Listed
		a.meter.update()
		if err := a.verify(ctx, members); err != nil {
			return nil, err
		}
	}
	if parsed.err != nil {
		return nil, &listError{parsed.err}
	}
	return parsed.parts.sorted(), nil
}

// verify begins to verify the contents of members, and counts those of the call before.
func (a *audit) verify(ctx context.Context, members []compared) error {
	before := a.checking
	if err := before.wait(); err != nil {
		return err
	}
	a.checking = nil
	if len(members) > 0 {
		a.checking = startVerification(ctx, a.sink, members)
	}
	if before == nil {
		return nil
	}
	for i, m := range before.members {
		switch {
		case before.damaged[i]:
			a.found.Damaged.add(m.URI)
			if err := a.state.Write(ctx, func() error { return a.state.Damaged(m.Member, m.listed) }); err != nil {
				return err
			}
		case m.result == 0:
			a.found.Extra.add(m.URI)
		case m.result == state.Same:
			a.found.Same++
		case m.result == state.Differs:
			a.found.Differs.add(m.URI)
		}
	}
	a.meter.Done += int64(len(before.members))
	a.meter.update()
	return nil
}
