package document

import (
	"context"
	"errors"
	"slices"
	"unsafe"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
)

// maxUpdates is the maximum number of attempts to render a document in parts. An attempt fails if
// the set changes meanwhile.
const maxUpdates = 3

// listParts writes the entries of all resources of the document. If the set knows which parts
// of an earlier document have changed, listParts reads only those.
//
// The result shows one state: the parts are the same before and after they are read. Reading
// everything takes one range of the provider, which shows one state anyway, so the parts are
// read once before it.
func (l *lister) listParts(ctx context.Context) error {
	if l.t.Set.partStater == nil || l.body.Window != nil || l.pack != nil || !l.st.Kept() || l.st.Modified.IsZero() {
		return l.listAll(ctx)
	}
	parts, err := l.parts(ctx)
	if err != nil {
		return err
	}
	for range maxUpdates {
		listed, err := l.update(ctx, parts)
		if err != nil {
			return err
		}
		if !listed {
			l.restart()
			break
		}
		now, err := l.parts(ctx)
		if err != nil {
			return err
		}
		if slices.Equal(parts, now) {
			l.st.parts = now
			return nil
		}
		parts = now
		l.restart()
	}
	l.st.parts = parts // a part that changes meanwhile is read again by the next update
	return l.listAll(ctx)
}

func (l *lister) parts(ctx context.Context) ([]resourcesync.Part, error) {
	return checked.Parts(ctx, l.t.Set.partStater, l.st.keys)
}

// update writes the entries of changed parts, and takes over the others from the earlier
// document. It reports whether this was possible.
func (l *lister) update(ctx context.Context, parts []resourcesync.Part) (bool, error) {
	earlier := l.st.earlier
	if earlier == nil || earlier.State.parts == nil {
		return false, nil
	}
	steps := earlier.Steps(l.st.keys, changedParts(earlier.State.parts, parts))
	for _, s := range steps {
		if s.Render {
			if err := l.list(ctx, s.Keys); errors.Is(err, errOutgrown) {
				return false, nil
			} else if err != nil {
				return false, err
			}
		} else if !l.body.Reuse(&earlier.Text, s) || l.body.Entries > l.limit {
			return false, nil
		}
	}
	return len(steps) > 0, nil
}

// changedParts returns the ranges of keys in which parts differ, in order. Both are parts of
// the same range; the end of the last one is empty.
func changedParts(before, now []resourcesync.Part) []resourcesync.Range {
	end := func(parts []resourcesync.Part, i int) string {
		if i+1 < len(parts) {
			return parts[i+1].From
		}
		return ""
	}
	var changed []resourcesync.Range
	j := 0
	for i, part := range now {
		for j < len(before) && before[j].From < part.From {
			j++
		}
		to := end(now, i)
		if j < len(before) && part.Version != "" && before[j] == part && end(before, j) == to {
			continue
		}
		if n := len(changed); n > 0 && changed[n-1].To == part.From {
			changed[n-1].To = to
		} else {
			changed = append(changed, resourcesync.Range{From: part.From, To: to})
		}
	}
	return changed
}

// partsMemory returns the memory of parts in bytes.
func partsMemory(parts []resourcesync.Part) int64 {
	n := int64(cap(parts)) * int64(unsafe.Sizeof(resourcesync.Part{}))
	for i := range parts {
		n += int64(len(parts[i].From) + len(parts[i].Version))
	}
	return n
}
