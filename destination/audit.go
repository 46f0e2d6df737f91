package destination

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Audit compares the copy with the Resource Lists of the Source and the changes after them (section
// 5.2), and, if the Sink is a [Verifier], the contents of the Sink with those that it was given. It
// requests no resources and does not change the copy. The next Sync fetches resources that are
// missing, differ or are damaged, and deletes those that a Change List deletes. It deletes other
// extra ones when the Source does.
//
// A Source that changes during the audit differs from the copy: call Sync first.
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
	at       map[string]time.Time // as of when the Resource Lists of a set are complete
}

func (a *audit) audit(ctx context.Context) (err error) {
	if before := a.state.Before(); before != "" {
		return fmt.Errorf("the copy is still a copy of %s; call Sync first", before)
	}
	var sets []tree.Set
	if sets, err = a.discover(ctx); err != nil {
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
	if err := a.state.ClearStaged(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.state.ClearStaged()) }()
	a.at = make(map[string]time.Time)
	var failed error
	for _, set := range sets { // a set can have a newer version of what another one lists
		if len(set.Lists[resourcesync.ResourceList]) == 0 {
			return fmt.Errorf("%s has no Resource List to compare the copy with", set.URI)
		}
		unread, err := a.changes(ctx, set)
		if failed = errors.Join(failed, unread); err != nil {
			return err
		}
	}
	for _, set := range sets {
		w := walk{run: a.run, known: unconditional, visit: func(ctx context.Context, p *page) ([]rsxml.Entry, error) {
			return a.compare(ctx, set, p)
		}}
		if err := w.all(ctx, set.Lists[resourcesync.ResourceList]); err != nil {
			return err
		}
		failed = errors.Join(failed, w.failed)
	}
	if failed != nil { // what is in no list that can be read may be in another one
		return errors.Join(failed, a.verify(ctx, nil))
	}
	err = a.rest(ctx)
	if err != nil {
		return err
	}
	return a.verify(ctx, nil)
}

// changes stages the changes of a set since a day before its Resource Lists, at most. failed has the
// errors of Change Lists that cannot be read.
func (a *audit) changes(ctx context.Context, set tree.Set) (failed, err error) {
	st, err := a.state.Set(set.URI)
	if err != nil {
		return nil, err
	}
	st.Known = false
	c := a.newChangeReader(set, &st)
	c.audit, c.all = true, true
	c.lists = walk{run: a.run, known: c.known, visit: c.visit}
	err = c.lists.all(ctx, set.Lists[resourcesync.ChangeList])
	a.copy.Partial = a.copy.Partial || c.lists.failed != nil || c.outdated
	return c.lists.failed, err
}

// staged counts a change of a resource that neither the copy nor a Resource List has.
func (a *audit) staged(uri string, c state.Comparison) {
	switch c {
	case state.Missing:
		a.found.Missing.add(uri)
	case state.Undecided:
		a.found.Undecided++
	}
}

// rest compares the members of the copy that are in no Resource List, and the changes of resources
// that are neither there nor in the copy.
func (a *audit) rest(ctx context.Context) error {
	err := a.copy.Staged(ctx, a.at, a.staged)
	if err != nil {
		return err
	}
	return a.copy.Rest(ctx, func(members []state.Member) error {
		all := make([]compared, len(members))
		err := a.state.Write(ctx, func() (err error) {
			for i := range members {
				all[i].Member = &members[i]
				if all[i].result, err = a.copy.Unlisted(&members[i], a.at); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return a.verify(ctx, all)
	})
}

// goneSets adds the deletions that the last Sync has held to the report.
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

// A compared member of the copy.
type compared struct {
	*state.Member
	result state.Comparison
	listed *resourcesync.Resource // its entry, or nil
}

// compare compares the entries of a list with the copy. The contents of the members are
// verified while further entries are compared. It returns the parts of an index.
func (a *audit) compare(ctx context.Context, set tree.Set, p *page) ([]rsxml.Entry, error) {
	if at, ok := a.at[set.URI]; p.top && (!ok || p.at.Before(at)) {
		a.at[set.URI] = p.at
	}
	at := p.at
	if at.IsZero() {
		at = a.at[set.URI]
	}
	doubt := state.DoubtNone
	if len(set.Lists[resourcesync.ChangeList]) == 0 && len(set.Lists[resourcesync.ChangeDump]) > 0 {
		doubt = state.DoubtVersion // a change in a dump, which is not read, can have replaced or deleted what is listed
	}
	parsed := parse(p.Document)
	defer parsed.stop()
	for entries := range parsed.batches {
		members := make([]compared, 0, len(entries))
		err := a.state.Write(ctx, func() error {
			for i := range entries {
				entry := &state.Pending{Set: set.URI, List: p.uri, At: at, Doubt: doubt, Change: resourcesync.Change{Resource: resource(&entries[i])}}
				result, member, err := a.copy.Compare(entry)
				if err != nil {
					return err
				}
				if member == nil {
					a.staged(entries[i].Loc, result)
				} else {
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

// verify begins to verify the contents of members, and counts the results of the previous call.
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
		case m.result == state.Undecided:
			a.found.Undecided++
		case m.result == state.Extra:
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
