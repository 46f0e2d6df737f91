package simulation

import (
	"slices"
	"time"
)

// patterns are the ways in which three changes can concern the same resources.
var patterns = [][3]string{
	{"put a", "put a", "put a"},
	{"put a", "put a", "delete a"},
	{"put a", "delete a", "put a"},
	{"put a", "put b", "put a"},
	{"put a", "put b", "put b"},
	{"put a", "put b", "delete a"},
	{"put a", "delete a", "put b"},
	{"put a", "put b", "put c"},
}

// forms are the forms of time.
var forms = []Params{
	{},
	{Times: "second"},
	{Times: "day"},
	{Times: "second", Changes: "lastmod"},
	{Times: "second", Until: "last"},
}

// steps are the events of a short history: three changes, the close of a list, and two readings.
const steps = "CCCLRR"

// Short returns all short histories: each order of three changes, one close of a list and two
// readings, where each event is at the moment of the previous one, or in the next unit of time,
// in each form of time. Entries have neither hashes nor lengths.
func Short(yield func(*Script) bool) {
	for _, form := range forms {
		form.NoHash, form.NoLength, form.Quick = true, true, true
		for _, order := range orders(steps) {
			for _, pattern := range patterns {
				for gaps := range 1 << (len(steps) - 1) {
					if !yield(short(form, order, pattern, gaps)) {
						return
					}
				}
			}
		}
	}
}

// short returns one short history. A set bit of gaps is a unit of time before an event.
func short(form Params, order string, pattern [3]string, gaps int) *Script {
	s := &Script{Params: form}
	at, changes := 12*time.Hour, 0
	for i, step := range order {
		if i > 0 && gaps>>(i-1)&1 == 1 {
			at += form.tick()
		}
		switch step {
		case 'C':
			verb, name := pattern[changes][:len(pattern[changes])-2], pattern[changes][len(pattern[changes])-1:]
			e := Event{at, verb, []string{name}}
			if verb == "put" {
				e.Args = append(e.Args, "30")
			}
			s.Events = append(s.Events, e)
			changes++
		case 'L':
			s.Events = append(s.Events, Event{at, "close", nil})
		case 'R':
			s.Events = append(s.Events, Event{at, "sync", nil})
		}
	}
	return s
}

// orders returns the different orders of the characters of s.
func orders(s string) (all []string) {
	if len(s) < 2 {
		return []string{s}
	}
	for i := range s {
		if slices.Contains([]byte(s[:i]), s[i]) {
			continue
		}
		for _, rest := range orders(s[:i] + s[i+1:]) {
			all = append(all, s[i:i+1]+rest)
		}
	}
	return all
}
