package destination

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// progress tracks the notifications of a set. Each notification that follows the last one without
// a gap moves the cursor of the set. After a gap, the Change List is read as well.
type progress struct {
	set tree.Set

	chain time.Time // the until of the last notification without a gap before it
	until time.Time // of the last notification

	missed   bool      // the Change List has to be read
	newest   time.Time // of the noted changes, which the documents have to have
	next     time.Time // when the Change List may be read
	failures int       // in a row, to read it or to find as much in it

	unlisted bool // the set has no Change List, and its next Resource List shows what was missed
}

// noteOne notes the changes of a notification.
func (f *follower) noteOne(ctx context.Context, r *run, n notification) error {
	c := f.channels[n.key]
	if c == nil {
		return nil // it is no longer followed
	}
	sets := c.sets()
	d, err := r.reader.Notification(sets[0], n.body)
	if err == nil {
		sets = addressees(sets, d)
	}
	switch {
	case err != nil:
	case d.Capability == resourcesync.FrameworkNotification, d.Capability == "" && !c.carries(resourcesync.ChangeNotification):
		err = f.noteDocuments(d, sets)
	case len(sets) == 1:
		err = f.noteChanges(ctx, r, f.progress[sets[0]], d)
	default:
		f.missed(c)
	}
	if tree.IsInvalid(err) {
		f.missed(c)
		f.sparse.Log(ctx, f.log, slog.LevelWarn, "a notification cannot be read; the Change List is read instead", slog.String("channel", n.key.address), slog.Any("error", err))
		return nil
	}
	return err
}

// addressees returns the sets of a channel that a notification concerns. If several sets
// share the channel, it is the set that the notification links to. Without such a link, all
// of them may have changed.
func addressees(sets []string, d *tree.Document) []string {
	if up, ok := d.Up(); ok && slices.Contains(sets, up) {
		return []string{up}
	}
	return sets
}

// missed causes the Change Lists of the sets of a channel to be read.
func (f *follower) missed(c *following) {
	for _, uri := range c.sets() {
		f.progress[uri].missed = true
	}
}

// noteChanges notes the changes of a Change Notification. Late and repeated ones have no
// changes after the cursor, or changes that the copy already has.
func (f *follower) noteChanges(ctx context.Context, r *run, p *progress, d *tree.Document) error {
	st, err := r.state.Set(p.set.URI)
	if err != nil || !st.Known { // the next Sync reads all
		return err
	}
	from, until := d.Head.Metadata.From, d.Head.Metadata.Until
	if !until.IsZero() && until.Before(st.Cursor) {
		return nil
	}
	gap := from.IsZero() || from.After(st.Cursor) && !from.Equal(p.chain)
	if gap {
		d.Head.Metadata.Until = time.Time{} // newest is the time of the last change
	}
	c, err := r.noteNotification(ctx, p.set, &st, d)
	if err != nil {
		return err
	}
	p.until, p.newest = latest(p.until, until), latest(p.newest, c.newest)
	if gap {
		p.missed = true
		return nil
	}
	p.chain = until
	if !c.newest.After(st.Cursor) {
		return nil
	}
	return r.state.Write(ctx, c.move)
}

// noteNotification notes the changes of a notification since the cursor.
func (r *run) noteNotification(ctx context.Context, set tree.Set, st *state.Set, d *tree.Document) (*changeReader, error) {
	c := r.newChangeReader(set, st)
	c.cutoff = st.Cursor
	if err := r.state.ClearStaged(); err != nil {
		return nil, err
	}
	l := c.newListReader(d, d.URL, nil, nil)
	l.from, l.late = time.Time{}, true
	if _, err := r.noteAll(ctx, d, l.entry, l.end); err != nil {
		return nil, err
	}
	return c, c.flush(ctx, nil)
}

// noteDocuments reads a Framework Notification. Changes of lists matter only if the changes
// of resources are not pushed, or if some were missed that no list has shown yet.
func (f *follower) noteDocuments(d *tree.Document, sets []string) error {
	pushes := !slices.ContainsFunc(sets, func(uri string) bool { return !f.pushes(uri) })
	for e, err := range d.Entries() {
		if err != nil {
			return err
		}
		switch e.Metadata.Capability {
		case resourcesync.CapabilityList, resourcesync.Description:
			f.discoverAgain()
		case resourcesync.ResourceList, resourcesync.ResourceDump:
			for _, uri := range sets {
				if p := f.progress[uri]; p != nil && p.unlisted {
					p.unlisted = false
					f.discoverAgain()
				}
			}
			fallthrough
		default:
			if !pushes {
				f.discoverAgain()
			}
		}
	}
	return nil
}

// fill reads the Change List of a set if changes have been missed. If the Change List lacks
// changes of the notifications, because a cache has an old one, it is read again later.
func (f *follower) fill(ctx context.Context, r *run, p *progress) error {
	if !p.missed || time.Now().Before(p.next) {
		return nil // Follow calls again
	}
	st, err := r.state.Set(p.set.URI)
	if err != nil || !st.Known {
		p.missed = false
		return err
	}
	if len(p.set.Lists[resourcesync.ChangeList]) == 0 {
		p.missed, p.unlisted = false, true
		f.soon(max(time.Minute, f.fillRetry.Wait(p.failures, 0))) // a Sync reads other documents
		p.failures++
		return nil
	}
	_, gap, err := r.readChangeLists(ctx, p.set, &st)
	p.next = time.Now().Add(fillPause)
	if gap {
		f.soon(0)
	}
	if p.missed = err != nil || !gap && st.Cursor.Before(p.newest); p.missed {
		p.failures++
		p.next = p.next.Add(f.fillRetry.Wait(p.failures, 0))
		return err
	}
	p.chain, p.failures = p.until, 0
	return nil
}

// late finds the sets that a Sync has compared with documents from before the last notification: a cache has sent them, or
// they are dumps that lag behind.
func (f *follower) late() error {
	for uri, p := range f.progress {
		st, err := f.state.Set(uri)
		if err != nil {
			return err
		}
		if st.Known && f.hasChanges(p.set) && st.Cursor.Before(p.newest) {
			p.missed = true
		} else if !p.missed {
			p.failures = 0
		}
	}
	return nil
}

// nextFill returns the time at which a Change List is to be read, or at if that is earlier.
func (f *follower) nextFill(at time.Time) time.Time {
	for _, p := range f.progress {
		if p.missed && p.next.Before(at) {
			at = p.next
		}
	}
	return at
}
