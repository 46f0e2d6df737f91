package state

import (
	"encoding/json"
	"time"
)

// A Copied is a member of the copy. Held reports whether its deletion is held: the lists of its
// set, or the Source, have lost it.
type Copied struct {
	Member
	Held bool
}

// copiedBatch is the number of resources that Copied returns.
const copiedBatch = 500

// Copied returns the next members of the copy after a URI, in the order of their URIs; see
// [State.SetsAre]. gone are the URIs of sets whose deletions are held as a whole.
func (s *State) Copied(after string, gone map[string]bool) ([]Copied, error) {
	named, err := json.Marshal(s.sets)
	if err != nil {
		return nil, err
	}
	members, err := s.members("FROM resource r WHERE r.uri > ? ORDER BY r.uri LIMIT +?", after, copiedBatch)
	if err != nil {
		return nil, err
	}
	sets := make(map[string]Set)
	now := time.Now()
	out := make([]Copied, len(members))
	for i, m := range members {
		set, ok := sets[m.Set]
		if !ok {
			if set, err = s.Set(m.Set); err != nil {
				return nil, err
			}
			sets[m.Set] = set
		}
		out[i] = Copied{Member: m, Held: set.Guard.Held > 0 && set.misses(&m.Resource, now)}
		if gone[m.Set] { // unless another set of the Source has it
			others, err := s.int("SELECT count(*) FROM also WHERE uri = ?1 AND sets != ?2 AND sets IN (SELECT value FROM json_each(?3))", m.URI, m.Set, string(named))
			if err != nil {
				return nil, err
			}
			out[i].Held = others == 0
		}
	}
	return out, nil
}

// misses is the condition unseen, for the last baseline of a set.
func (set *Set) misses(r *Resource, now time.Time) bool {
	return r.Seen < set.Baseline && (set.Base.IsZero() || !r.Datetime.After(set.Base) || r.Datetime.After(now))
}
