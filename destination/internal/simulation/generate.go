package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Generate returns the script of a seed: first the parameters, then the events.
func Generate(seed uint64) *Script {
	g := &generator{rand.New(rand.NewPCG(seed, 1)), &Script{Params: Params{Seed: seed}}}
	g.parameters()
	g.faults()
	g.events()
	return g.s
}

type generator struct {
	*rand.Rand
	s *Script
}

// often returns true with a probability of n/100.
func (g *generator) often(n int) bool { return g.IntN(100) < n }

// pick returns one of the values.
func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

func (g *generator) parameters() {
	p := &g.s.Params
	if g.often(25) {
		p.Source = pick(g, "memory", "memory", "sqlite", "static")
	}
	p.Times = pick(g, "", "", "second", "second", "day")
	p.Changes = pick(g, "", "", "", "lastmod", "bare")
	p.LastMod = pick(g, "", "", "", "", "backwards", "future", "constant", "none")
	p.NoHash, p.NoLength = g.often(50), g.often(50)
	p.Validators = pick(g, "", "", "modified", "none")
	p.Documents = pick(g, "", "", "modified", "none")
	if p.Times == "" && p.Changes == "" {
		p.Order = pick(g, "", "", "reverse", "shuffled")
	}
	switch p.NoAt = g.often(10); {
	case p.NoAt:
	case g.often(20):
		p.At = -pick(g, time.Second, time.Minute, time.Hour)
	case g.often(20):
		p.At = pick(g, time.Second, time.Minute, time.Hour)
	}
	p.Lists = pick(g, "", "", "", "single", "none")
	p.Published = p.Lists == "single" || g.often(30)
	p.Until = pick(g, "", "", "last", "none")
	if g.often(20) {
		p.Retain = 1 + g.IntN(2)
	}
	p.Index = pick(g, "", "", "urlset", "next")
	if g.often(30) {
		p.Parts = 1 + g.IntN(3)
	}
	if g.often(20) {
		p.Sets = 2 + g.IntN(2)
	}
	if p.Source == "" && g.often(15) {
		p.Skew = pick[time.Duration](g, -1, 1) * pick(g, time.Second, time.Minute, 3*time.Hour)
	}
	if p.Source == "" && g.often(25) {
		p.Dumps = pick(g, "resources", "changes", "both", "both")
		p.DumpLag = pick(g, 0, time.Second, time.Minute, 2*time.Hour)
		p.Manifests, p.UseDumps = g.often(50), g.often(80)
		p.NoLists = p.Dumps != "changes" && p.UseDumps && g.often(30)
	}
	p.NoDate = g.often(10)
	p.Service = g.often(50)
	p.Guard = g.often(10)
	p.Hub = p.Source == "" && g.often(40)
}

// faults chooses the faults and their rates. One fault at a high rate finds defects that a
// mixture of all hides.
func (g *generator) faults() {
	p := &g.s.Params
	for _, rate := range []*int{&p.Errors, &p.Resets, &p.Cuts, &p.Old, &p.Kills, &p.Full} {
		if g.often(20) {
			*rate = pick(g, 10, 30, 100, 300)
		}
	}
	if p.Hub && g.often(50) {
		p.Notices = pick(g, 30, 100, 300, 1000)
	}
	if p.Errors > 0 && g.often(50) {
		p.RetryAfter = pick(g, time.Second, time.Minute, time.Hour, 24*time.Hour)
	}
}

// names are names of resources. Some share a folder, two differ only in case, and one is also the
// name of a folder.
var names = []string{"a", "b", "c", "d/e", "d/f", "A", "d", "x%20y", "q?r"}

func (g *generator) events() {
	at := 10 * time.Hour
	used := 2 + g.IntN(4)
	for n := 3 + g.IntN(16); n > 0; n-- {
		at += pick(g, 0, 0, 100*time.Microsecond, 300*time.Millisecond, time.Second, 1500*time.Millisecond, 10*time.Second, time.Minute, time.Hour, 25*time.Hour)
		name := names[g.IntN(used)]
		switch k := g.IntN(100); {
		case k < 35:
			g.put(at, name)
		case k < 48:
			g.add(at, "delete", name)
		case k < 55:
			g.add(at, "close")
		case k < 60:
			g.add(at, "publish")
		case k < 85 && g.often(80):
			g.add(at, "sync")
		case k < 85:
			g.add(at, "follow", fmt.Sprint(pick(g, 10*time.Second, 5*time.Minute, 30*time.Minute)), fmt.Sprint(pick(g, time.Minute, 15*time.Minute, 24*time.Hour)))
		case k < 88:
			g.add(at, "audit")
		case k < 90:
			g.add(at, "kill")
		case k < 92 && !g.s.NoLists: // without lists, no audit finds damage
			g.add(at, "edit", name)
		case k < 93 && !g.s.NoLists:
			g.add(at, "lose", name)
		case k < 95:
			g.add(at, "file", pick(g, name, name, "mine", "d/mine"))
		case k < 96 && g.s.Source == "":
			step := pick[time.Duration](g, -1, 1) * pick(g, time.Second, time.Minute, time.Hour)
			if g.s.Order != "" && step < 0 {
				step = -step // only times show which change of such a list is the last one
			}
			g.add(at, "clock", fmt.Sprint(step))
		case k < 97 && g.s.Source == "" && !g.s.NoLists && g.often(40):
			g.add(at, "relocate")
		case g.s.Sets > 1 && k < 97:
			g.add(at, pick(g, "vanish", "appear", "move"), fmt.Sprint(g.IntN(g.s.Sets)))
		case g.s.Sets > 1 && k < 98:
			g.add(at, "join", name, fmt.Sprint(g.IntN(g.s.Sets)))
		default:
			g.put(at, name)
			g.put(at, names[g.IntN(used)])
		}
	}
}

func (g *generator) put(at time.Duration, name string) {
	size := pick(g, 30, 30, 31, 100)
	if g.often(2) {
		size = 300_000
	}
	args := []string{name, fmt.Sprint(size)}
	if g.s.Sets > 1 && g.often(50) {
		args = append(args, fmt.Sprint(g.IntN(g.s.Sets)))
	}
	g.add(at, "put", args...)
}

func (g *generator) add(at time.Duration, verb string, args ...string) {
	g.s.Events = append(g.s.Events, Event{at, verb, args})
}
