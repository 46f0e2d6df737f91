package destination

import (
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/guard"
)

// This file decides which resources that the Source no longer lists are deleted, and which deletions are held.

// asksOutdated is the maximum number of resources that a run requests because a Resource List lacks them
// that is older than their copies. If there are more, nothing is deleted.
const asksOutdated = 1000

// finish notes the deletions, unless they are too many, and records that the set is known. A
// resource that only an earlier reading has found is requested: it has moved between two lists, or
// a cache has sent an old one.
func (b *baseline) finish() error {
	if err := b.state.Inherit(b.set.URI, b.first, b.at); err != nil {
		return err
	}
	if err := b.state.Forget(b.set.URI, b.first, b.at); err != nil {
		return err
	}
	if err := b.state.ForgetDocuments(b.set.URI, b.st.Baseline); err != nil {
		return err
	}
	count, missing, err := b.state.Missing(b.set.URI, b.st.Baseline, b.at)
	if err != nil {
		return err
	}
	f, asked := b.freshnessOf(b.set.URI), int64(0)
	var since time.Time
	if missing > 0 && b.at.IsZero() { // only the answer tells the age of such lists
		since = f.lists.Add(time.Second)
		if asked, err = b.state.MissingSince(b.set.URI, b.st.Baseline, since); err != nil {
			return err
		}
		f.outdated = asked > 0
	}
	missing -= asked
	now := time.Now().UnixMicro()
	hold := b.unreadable || asked > asksOutdated
	if !hold {
		b.st.Guard, hold = b.st.Guard.Judge(b.limits, guard.Found{Begun: now, At: now, Count: count + b.created, Created: b.created, Missing: missing})
		if hold {
			b.report.Held += missing
		}
	}
	switch {
	case hold && missing+asked > 0:
		b.log.Warn(b.held(asked > asksOutdated), "set", b.set.URI, "missing", missing+asked, "of", count)
	case missing+asked > 0:
		err := b.state.NoteMissing(b.set.URI, b.first, b.at, since)
		if err == nil && asked > 0 {
			err = b.state.AskMissing(b.set.URI, b.st.Baseline, since)
		}
		if err != nil {
			return err
		}
		b.total += missing + asked
	}
	if !b.hasChanges(b.set) && !b.at.IsZero() { // at can be before the snapshot, and nothing else shows later deletions
		n, err := b.state.AskUnlisted(b.set.URI, b.first, b.at, b.at.Add(state.MaxMargin))
		if err != nil {
			return err
		}
		b.total += n
	}
	if b.first < b.st.Baseline && !hold {
		if err := b.state.AskSuperseded(b.set.URI, b.first, b.st.Baseline); err != nil {
			return err
		}
	}
	if err := b.end(); err != nil {
		return err
	}
	return b.state.SaveSet(*b.st)
}

// end records the time as of which the copy shows the lists. Entries do not show all changes, so
// the changes since the last reading are read in any case: the cursor does not move past them. If the first
// comparison was interrupted, the changes since its resources were copied are read as well.
func (b *baseline) end() error {
	if b.st.Cursor.IsZero() && b.first > 1 {
		oldest, err := b.state.OldestAnswer(b.set.URI)
		if err != nil {
			return err
		}
		b.st.Cursor = oldest
	}
	if !b.hasChanges(b.set) || b.st.Cursor.IsZero() || b.at.Before(b.st.Cursor) {
		b.st.Cursor = b.at
	}
	b.st.Base, b.st.Known = b.at, true
	return nil
}

// held returns the reason why deletions are held.
func (b *baseline) held(outdated bool) string {
	if outdated {
		return "resources that the Source no longer lists are kept until the next run, because a cache has sent lists from before they were copied"
	}
	if b.unreadable {
		return "resources that the Source no longer lists are kept, because the lists have entries that cannot be read"
	}
	return "the Source lists so few of the resources of the copy that their deletions are held"
}
