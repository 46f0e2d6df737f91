package simulation

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// Shrink returns a script, as small as possible, whose verdict has a failure of the same kind as
// the verdict of s. It calls run a few hundred times.
func Shrink(s *Script, run func(*Script) *Verdict) *Script {
	v := run(s)
	if len(v.Failures) == 0 {
		return s
	}
	k := &shrinker{run: run, kind: v.Failures[0].Kind, best: s}
	k.nameFaults(v)
	for size := 0; size != k.best.size(); {
		size = k.best.size()
		k.events()
		k.params()
		k.times()
	}
	return k.best
}

type shrinker struct {
	run  func(*Script) *Verdict
	kind string
	best *Script
}

// size returns the length of the text, which Shrink reduces.
func (s *Script) size() int { return len(s.Text()) }

func (s *Script) clone() *Script {
	c := *s
	c.Events = slices.Clone(s.Events)
	return &c
}

// try keeps a script if it fails in the same way.
func (k *shrinker) try(s *Script) bool {
	v := k.run(s)
	failed := slices.ContainsFunc(v.Failures, func(f Failure) bool { return f.Kind == k.kind })
	if failed {
		k.best = s
	}
	return failed
}

// nameFaults replaces the rates of faults by those that have happened.
func (k *shrinker) nameFaults(v *Verdict) {
	s := k.best.clone()
	s.Errors, s.Resets, s.Cuts, s.Old, s.Kills, s.Full, s.Notices = 0, 0, 0, 0, 0, 0, 0
	if s.Params == k.best.Params || k.try(s) {
		return
	}
	s = s.clone()
	var events []Event
	for _, f := range v.fired {
		events = append(events, Event{Verb: "fault", Args: strings.Fields(f.String())})
	}
	s.Events = append(events, s.Events...)
	k.try(s)
}

// events removes events, first many at a time.
func (k *shrinker) events() {
	for chunk := max(len(k.best.Events)/2, 1); chunk > 0; chunk /= 2 {
		for i := 0; i+chunk <= len(k.best.Events); {
			s := k.best.clone()
			s.Events = slices.Delete(s.Events, i, i+chunk)
			if !k.try(s) {
				i++
			}
		}
	}
}

// params sets parameters to their zero values.
func (k *shrinker) params() {
	for i := range reflect.TypeFor[Params]().NumField() {
		s := k.best.clone()
		if f := reflect.ValueOf(&s.Params).Elem().Field(i); !f.IsZero() {
			f.SetZero()
			k.try(s)
		}
	}
}

// times simplifies the times between events.
func (k *shrinker) times() {
	for i := range k.best.Events {
		before := time.Duration(0)
		if i > 0 {
			before = k.best.Events[i-1].At
		}
		for _, gap := range []time.Duration{0, time.Second, time.Hour} {
			s := k.best.clone()
			less := s.Events[i].At - before - gap
			if less <= 0 {
				break
			}
			for j := i; j < len(s.Events); j++ {
				s.Events[j].At -= less
			}
			if k.try(s) {
				break
			}
		}
	}
}
