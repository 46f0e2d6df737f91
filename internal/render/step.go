package render

import "github.com/resourcesync-go/resourcesync"

// A Step is a part of the work to render a document again after a change: a range of keys
// to render, or segments of the earlier document to take over.
type Step struct {
	Render bool
	Keys   resourcesync.Range // to render

	first, end int // segments to take over
}

// Steps returns how to render a document about the keys in all after changes in some
// ranges of them, which are in order. t is the earlier document. The result is nil if
// rendering the complete document is better.
func (t *Text) Steps(all resourcesync.Range, changed []resourcesync.Range) []Step {
	dirty := t.dirty(changed)
	var steps []Step
	reused := 0
	for i := 0; i < len(dirty); {
		j := i + 1
		for j < len(dirty) && dirty[j] == dirty[i] {
			j++
		}
		s := Step{Render: dirty[i], first: i, end: j}
		if s.Render {
			s.Keys = all
			if i > 0 {
				s.Keys.From = t.Segments[i].Key
			}
			if j < len(dirty) {
				s.Keys.To = t.Segments[j].Key
			}
		} else {
			for k := i; k < j; k++ {
				reused += t.Segments[k].Size
			}
		}
		steps = append(steps, s)
		i = j
	}
	// A document of one chunk has no segments, and reading many ranges takes longer than
	// reading one.
	if reused <= chunkSize || reused < t.Size/2 {
		return nil
	}
	return steps
}

// dirty reports for each segment of t whether it must be rendered again.
func (t *Text) dirty(changed []resourcesync.Range) []bool {
	dirty := make([]bool, len(t.Segments))
	for i := range dirty {
		begin, end := "", "" // the keys of the first segment begin anywhere
		if i > 0 {
			begin = t.Segments[i].Key
		}
		if i+1 < len(t.Segments) {
			end = t.Segments[i+1].Key
		}
		// Go on to the first change that does not end before the segment.
		for len(changed) > 0 && changed[0].To != "" && changed[0].To <= begin {
			changed = changed[1:]
		}
		if len(changed) == 0 {
			break
		}
		dirty[i] = end == "" || changed[0].From < end
		if i > 0 && changed[0].Contains(begin) {
			// The first entry, and with it the boundary, may be gone.
			dirty[i-1] = true
		}
	}
	for i := 1; i < len(dirty); i++ {
		// A segment that was ended by its size may end elsewhere now.
		if dirty[i-1] && !isBoundary(t.Segments[i].Key) {
			dirty[i] = true
		}
	}
	return dirty
}
