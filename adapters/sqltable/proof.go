package sqltable

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
)

// A proof is the state of a database when a journal was known to be complete. As long as
// the state is the same, no change has been missed since.
type proof struct {
	Made     string            `json:"made"`     // the number of the statements that made the triggers
	Triggers map[string]string `json:"triggers"` // their states by their names
	History  map[string]string `json:"history,omitempty"`
	Schema   int64             `json:"schema,omitempty"`

	// Idle is the fingerprint of the table's list when our statements dropped the
	// triggers.
	Idle string `json:"idle,omitempty"`

	// Added names the objects that the triggers allow for. Objects that were added since
	// may have hidden changes.
	Added []string `json:"added,omitempty"`
}

func newProof(number string, s *engine.Signs) *proof {
	p := &proof{Made: number, Triggers: map[string]string{}, History: s.History, Schema: s.Schema, Added: s.Added}
	for _, t := range s.Triggers {
		p.Triggers[t.Name] = t.State
	}
	return p
}

func (p *proof) text() (string, error) {
	text, err := json.Marshal(p)
	return string(text), err
}

// parseProof returns the proof of a journal, or nil if it has none that can be read.
func parseProof(c *coverage.Cover) *proof {
	p := new(proof)
	if c.Proof == "" || json.Unmarshal([]byte(c.Proof), p) != nil {
		return nil
	}
	return p
}

// added returns the names of triggers that p does not have, sorted.
func (p *proof) added(s *engine.Signs) (names []string) {
	for _, t := range s.Triggers {
		if _, found := p.Triggers[t.Name]; !found {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

// sameTime reports whether the database is on the same timeline and has the same definitions.
func (p *proof) sameTime(s *engine.Signs) bool {
	return p.Schema == s.Schema && p.History[engine.Timeline] == s.History[engine.Timeline]
}

// The text of a reason up to its first colon is public; names in the database come after it.

// interrupted returns why changes can have been missed since p, or "". A new timeline does
// not count if a witness has found its newest change there.
func (p *proof) interrupted(number string, s *engine.Signs, witnessed bool) string {
	if p == nil {
		return "its triggers were not watched before"
	}
	now := newProof(number, s)
	for _, name := range slices.Sorted(maps.Keys(p.History)) {
		switch was, is := p.History[name], now.History[name]; {
		case was == is, witnessed && name == engine.Timeline:
		case name == engine.TableNumber: // the names before it say that it is the same database
			return "the table was dropped and made again, or restored: its number was " + was + ", and is " + is
		default:
			return "the database is another one, or was restored: its " + name + " was " + was + ", and is " + is
		}
	}
	if p.Made != number {
		return droppedReason
	}
	for _, name := range slices.Sorted(maps.Keys(p.Triggers)) {
		switch state, found := now.Triggers[name]; {
		case !found:
			return "a trigger is missing: " + name
		case state != p.Triggers[name]:
			return "a trigger was altered, disabled or made again: " + name
		}
	}
	for _, name := range p.added(s) {
		if !slices.ContainsFunc(s.Triggers, func(t engine.Trigger) bool { return t.Name == name && t.Part && t.On && t.Born }) {
			return "a trigger is new: " + name
		}
	}
	for _, name := range now.Added {
		if !slices.Contains(p.Added, name) {
			return "its triggers did not allow for what the table now has: " + name
		}
	}
	return ""
}

// droppedReason is the reason if our statements have dropped the triggers or made them again.
const droppedReason = "its triggers were dropped"
