package harvesters

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// A record is a harvester in the state.
type record struct {
	Harvester
	Chains        []chainRecord  `json:"chains,omitempty"` // of the Sets
	Subscriptions []subscription `json:"subscriptions,omitempty"`
}

// A chainRecord continues the chain of a Progress. Intervals beyond a gap, and a list that was
// being read, are not kept: the harvester has to read them again.
type chainRecord struct {
	Until  time.Time `json:"until,omitzero"`
	AtList bool      `json:"atList,omitempty"`
	Lacks  time.Time `json:"lacks,omitzero"` // the first change that the harvester has not read
}

// text returns the key in the state.
func (k key) text() string { return k.address + " " + k.who }

// Save calls save with the harvesters that have changed since the last Save, by their keys in the
// state, and with the keys of those that were forgotten. If save fails, the next Save includes
// them.
func (l *Log) Save(save func(put map[string][]byte, remove []string) error) error {
	put, remove, changed, gone := l.unsaved(time.Now())
	if len(put) == 0 && len(remove) == 0 {
		return nil
	}
	err := save(put, remove)
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range changed {
		e := l.known[k]
		switch {
		case e == nil: // forgotten meanwhile
			l.gone[k] = true
		case err != nil:
			l.changed[k] = true
		default:
			e.Value.(*Harvester).saved = true
		}
	}
	if err != nil {
		maps.Copy(l.gone, gone)
	}
	return err
}

func (l *Log) unsaved(now time.Time) (put map[string][]byte, remove []string, changed, gone map[key]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	put = make(map[string][]byte)
	changed, gone = l.changed, l.gone
	l.changed, l.gone = make(map[key]bool), make(map[key]bool)
	for k := range gone {
		if l.known[k] == nil {
			remove = append(remove, k.text())
		}
	}
	for k := range changed {
		h := l.known[k].Value.(*Harvester)
		r := record{Harvester: h.copied(), Subscriptions: h.subscriptions}
		for _, p := range h.Sets {
			c := chainRecord{Until: p.chain, AtList: p.atList}
			if newest := l.newest[p.Set]; newest != nil && !p.Until.IsZero() {
				c.Lacks = newest.after(p.Until)
			}
			r.Chains = append(r.Chains, c)
		}
		text, err := json.Marshal(&r)
		if err != nil {
			panic(err) // every value can be written as JSON
		}
		put[k.text()] = text
	}
	return put, remove, changed, gone
}

// Restore adds the harvesters of a state, which an empty Log gets before its use. Those that are
// too old or too many are forgotten. It returns the keys of those that it cannot read, such as
// records of another version of the program.
func (l *Log) Restore(notes map[string][]byte) (unreadable []string) {
	var all []*record
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, text := range notes {
		r := readRecord(name, text)
		if r == nil {
			unreadable = append(unreadable, name)
			continue
		}
		if l.Shorten {
			r.shorten(l)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.key.text(), b.key.text())) })
	lacks := make(map[string][]time.Time) // by set
	for _, r := range all {
		if l.known[r.key] == nil && l.agents[r.Address] < maxAgents && l.progresses+len(r.Sets) <= maxProgresses {
			l.restore(r, lacks)
		} else if r.saved {
			l.gone[r.key] = true
		}
	}
	for set, times := range lacks {
		slices.SortFunc(times, time.Time.Compare)
		l.newest[set] = new(timeline)
		for _, at := range times {
			l.newest[set].add(at)
		}
	}
	l.forget(time.Now())
	return unreadable
}

// readRecord returns a harvester of the state by its key there, or nil if it cannot be read.
func readRecord(name string, text []byte) *record {
	r := new(record)
	if err := json.Unmarshal(text, r); err != nil || len(r.Chains) != len(r.Sets) || slices.Contains(r.Sets, nil) {
		return nil
	}
	r.saved, r.key = true, newKey(r.Name, r.Agent, r.Address)
	if r.key.text() != name {
		return nil
	}
	return r
}

// shorten shortens the address of a record.
func (r *record) shorten(l *Log) {
	short := shortened(r.Address)
	if short == r.Address {
		return
	}
	l.gone[r.key] = true
	r.Address, r.saved = short, false
	r.key.address = short
}

// restore adds a record as the least recent harvester. lacks gets the changes that it lacks.
func (l *Log) restore(r *record, lacks map[string][]time.Time) {
	h := &r.Harvester
	for i, c := range r.Chains {
		p := h.Sets[i]
		p.chain, p.atList = c.Until, c.AtList
		if !c.Lacks.IsZero() {
			lacks[p.Set] = append(lacks[p.Set], c.Lacks)
		}
	}
	e := l.recent.PushBack(h)
	l.known[r.key] = e
	l.agents[h.Address]++
	l.progresses += len(h.Sets)
	for _, s := range r.Subscriptions[:min(len(r.Subscriptions), maxSubscriptions)] {
		if l.subscribers[s] == nil {
			l.subscribers[s] = e
			h.subscriptions = append(h.subscriptions, s)
		}
	}
	if !r.saved {
		l.changed[r.key] = true
	}
}
