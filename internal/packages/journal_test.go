package packages

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// minutes returns the time n minutes after midnight.
func minutes(n int) time.Time { return midnight.Add(time.Duration(n) * time.Minute) }

// A ledger is a journal whose changes are at minutes after midnight. It divides itself,
// so its changes settle at once.
type ledger struct {
	changes []int
	seals   []int
}

func (l *ledger) Since(context.Context) (time.Time, error) { return midnight, nil }

func (l *ledger) Changes(_ context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for _, n := range l.changes {
			c := resourcesync.Change{Type: resourcesync.Updated, Datetime: minutes(n)}
			c.Resource.URI, c.Resource.Length = "https://example.org/a", resourcesync.Bytes(1)
			if iv.Contains(c.Datetime) && !yield(c, nil) {
				return
			}
		}
	}
}

func (l *ledger) Windows(context.Context, int) ([]resourcesync.Interval, error) {
	return []resourcesync.Interval{{From: midnight}}, nil
}

func (l *ledger) Seals(_ context.Context, after time.Time) (seals []time.Time, err error) {
	for _, n := range l.seals {
		if minutes(n).After(after) {
			seals = append(seals, minutes(n))
		}
	}
	return seals, nil
}

func (l *ledger) Seal(context.Context, time.Time) error { return nil }

// newJournal divides l into packages of three changes or an hour.
func newJournal(l *ledger) *Journal {
	return &Journal{Changer: l, Since: l.Since, Size: 1 << 20, MaxEntries: 3, Every: time.Hour}
}

// written returns intervals as minutes.
func written(intervals []resourcesync.Interval) string {
	var b strings.Builder
	for _, iv := range intervals {
		b.WriteString(" " + iv.From.Sub(midnight).String() + "-")
		if !iv.Open() {
			b.WriteString(iv.Until.Sub(midnight).String())
		}
	}
	return strings.TrimSpace(b.String())
}

func TestJournal(t *testing.T) {
	for name, tt := range map[string]struct {
		ledger
		want string
	}{
		"empty":                         {},
		"open":                          {ledger{changes: []int{1, 2}}, ""},
		"full":                          {ledger{changes: []int{1, 2, 3, 4}}, "0s-3m0s"},
		"full, one datetime":            {ledger{changes: []int{1, 2, 3, 3, 3, 4}}, "0s-3m0s"},
		"an hour":                       {ledger{changes: []int{1, 61}}, "0s-1h0m0s"},
		"a change at its end":           {ledger{changes: []int{1, 60, 61}}, "0s-1h0m0s"},
		"hours without changes":         {ledger{changes: []int{1, 200, 250}}, "0s-1h0m0s 1h0m0s-4h0m0s"},
		"a seal":                        {ledger{[]int{1, 2}, []int{2}}, "0s-2m0s"},
		"a seal that a change overtook": {ledger{[]int{1, 3}, []int{2}}, ""},
		"changes after a seal":          {ledger{[]int{1, 2, 3, 61}, []int{2}}, "0s-2m0s 2m0s-1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			dump, err := newJournal(&tt.ledger).Dump(t.Context())
			if err != nil || written(dump.Packages) != tt.want {
				t.Fatalf("%q, %v", written(dump.Packages), err)
			}
			// Replicas that have read the journal earlier agree.
			later := &ledger{}
			j := newJournal(later)
			for i := range tt.changes {
				later.changes = tt.changes[:i+1]
				for _, s := range tt.seals {
					if s == tt.changes[i] {
						later.seals = append(later.seals, s)
					}
				}
				if dump, err = j.Dump(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if len(tt.changes) > 0 && written(dump.Packages) != tt.want {
				t.Errorf("divided change by change: %q", written(dump.Packages))
			}
			for _, p := range dump.Packages {
				if got, found := dump.Find(Name(p)); !found || got != p || !dump.Lists(Name(p)) {
					t.Errorf("%s is not found", Name(p))
				}
			}
			if dump.Lists(Name(resourcesync.Interval{From: midnight, Until: minutes(5)})) {
				t.Error("a package that does not exist is listed")
			}
		})
	}
}

func TestParts(t *testing.T) {
	dump := &ChangeDump{Since: midnight}
	for _, n := range []int{0, 30, 61, 62, 63, 200} {
		dump.Packages = append(dump.Packages, resourcesync.Interval{From: minutes(n), Until: minutes(n + 1)})
	}
	if parts := dump.Parts(time.Hour, 6); written(parts) != "0s-" {
		t.Errorf("all fit into %q", written(parts))
	}
	parts := dump.Parts(time.Hour, 2)
	if written(parts) != "0s-1h1m0s 1h1m0s-1h3m0s 1h3m0s-3h20m0s 3h20m0s-" {
		t.Errorf("%q", written(parts))
	}
	var all []resourcesync.Interval
	for _, part := range parts {
		all = append(all, dump.In(part)...)
	}
	if !slices.Equal(all, dump.Packages) {
		t.Errorf("the parts have %q", written(all))
	}
}
