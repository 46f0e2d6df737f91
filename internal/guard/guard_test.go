package guard

import (
	"testing"
	"time"
)

// TestD10_Judge runs through a sequence of scans.
func TestD10_Judge(t *testing.T) {
	type scan struct {
		after            time.Duration // the scan before
		created, missing int64
		confirm          bool // what is held, before the scan
		hold             bool
		fresh            int64 // of the missing, how many have been created by these scans
	}
	const minute = time.Minute
	quarter := NewLimits(0, 0)
	for name, test := range map[string]struct {
		limits Limits
		count  int64 // at the beginning
		scans  []scan
	}{
		"a quarter is not too much":    {quarter, 100, []scan{{missing: 25}}},
		"more than a quarter":          {quarter, 100, []scan{{missing: 26, hold: true}}},
		"in small steps":               {quarter, 100, []scan{{missing: 10}, {minute, 0, 10, false, false, 0}, {minute, 0, 5, false, false, 0}, {minute, 0, 1, false, true, 0}}},
		"in small steps, slowly":       {quarter, 100, []scan{{missing: 20}, {121 * minute, 0, 20, false, false, 0}, {121 * minute, 0, 15, false, false, 0}}},
		"around the end of a period":   {quarter, 100, []scan{{missing: 1}, {59 * minute, 0, 20, false, false, 0}, {2 * minute, 0, 20, false, true, 0}}},
		"a rename":                     {quarter, 100, []scan{{created: 60, missing: 60}}},
		"a rename, new names first":    {quarter, 100, []scan{{created: 60}, {minute, 0, 60, false, false, 0}}},
		"a rename, new names later":    {quarter, 100, []scan{{missing: 60, hold: true}, {minute, 30, 60, false, true, 0}, {minute, 30, 60, false, false, 0}}},
		"a first fill replaces none":   {quarter, 0, []scan{{created: 100}, {minute, 0, 60, false, true, 0}}},
		"one of three":                 {quarter, 3, []scan{{missing: 1}}},
		"the only one":                 {quarter, 1, []scan{{missing: 1, hold: true}}},
		"all come back":                {quarter, 100, []scan{{missing: 90, hold: true}, {minute, 0, 0, false, false, 0}, {90 * minute, 0, 90, false, true, 0}}},
		"nothing comes back":           {quarter, 100, []scan{{missing: 90, hold: true}, {59 * minute, 0, 90, false, true, 0}, {minute, 0, 90, false, false, 0}}},
		"some come back, others go on": {quarter, 100, []scan{{missing: 90, hold: true}, {59 * minute, 0, 60, false, true, 0}, {59 * minute, 0, 60, false, true, 0}, {minute, 0, 60, false, false, 0}}},
		"confirmed":                    {quarter, 100, []scan{{missing: 90, hold: true}, {minute, 0, 90, true, false, 0}, {minute, 0, 2, false, false, 0}}},
		"more than was confirmed":      {quarter, 100, []scan{{missing: 50, hold: true}, {minute, 0, 51, true, true, 0}, {minute, 0, 51, true, false, 0}}},
		"many more go":                 {quarter, 200, []scan{{missing: 90, hold: true}, {59 * minute, 0, 200, false, true, 0}, {minute, 0, 200, false, true, 0}, {59 * minute, 0, 200, false, false, 0}}},
		"many more go at the end":      {quarter, 200, []scan{{missing: 90, hold: true}, {60 * minute, 0, 93, false, true, 0}, {60 * minute, 0, 93, false, false, 0}}},
		"few more go":                  {quarter, 200, []scan{{missing: 90, hold: true}, {59 * minute, 0, 92, false, true, 0}, {minute, 0, 94, false, false, 0}}},
		"the last one goes as well":    {quarter, 200, []scan{{missing: 199, hold: true}, {60 * minute, 0, 200, false, true, 0}, {60 * minute, 0, 200, false, false, 0}}},
		"created, and gone again":      {quarter, 1, []scan{{created: 40}, {time.Second, 0, 40, false, true, 40}}},
		"mounted, and lost again":      {quarter, 100, []scan{{created: 100}, {minute, 0, 100, false, true, 100}}},
		"partly gone again":            {quarter, 100, []scan{{created: 100}, {minute, 0, 100, false, true, 60}}},
		"lost again, the rest renamed": {quarter, 100, []scan{{created: 100}, {minute, 100, 200, false, true, 100}}},
		"created long ago":             {quarter, 100, []scan{{created: 60}, {100 * minute, 0, 80, false, true, 0}}},
		"created some time ago":        {quarter, 100, []scan{{created: 60}, {11 * minute, 0, 80, false, true, 0}}},
		"a rename after small changes": {quarter, 100, []scan{{created: 1}, {4 * minute, 60, 0, false, false, 0}, {4 * minute, 0, 60, false, false, 0}}},
		"a rename after deletions":     {quarter, 100, []scan{{missing: 1}, {50 * minute, 60, 0, false, false, 0}, {minute, 0, 60, false, false, 0}}},
		"renamed twice":                {quarter, 100, []scan{{created: 90, missing: 90}, {minute, 90, 90, false, false, 90}}},
		"a credit does not last":       {quarter, 100, []scan{{created: 50}, {time.Second, 0, 50, false, false, 0}, {time.Second, 0, 50, false, true, 50}}},
		"creations after deletions":    {quarter, 100, []scan{{missing: 20}, {minute, 20, 0, false, false, 0}, {minute, 0, 20, false, false, 20}, {minute, 0, 10, false, true, 0}}},
		"documented: a lost volume":    {quarter, 1000, []scan{{missing: 900, hold: true}, {minute, 0, 0, false, false, 0}}},
		"documented: hundreds":         {quarter, 1000, []scan{{missing: 100}, {10 * minute, 0, 100, false, false, 0}, {10 * minute, 0, 100, false, true, 0}}},
		"documented: a rename":         {quarter, 1000, []scan{{created: 400, missing: 400}}},
		"documented: a copied folder":  {quarter, 1000, []scan{{created: 400}, {60 * minute, 0, 400, false, true, 0}}},
		"never by time":                {NewLimits(0, -1), 100, []scan{{missing: 50, hold: true}, {1000 * minute, 0, 50, false, true, 0}}},
		"none":                         {NewLimits(-1, 0), 100, []scan{{missing: 1, hold: true}}},
		"any number":                   {NewLimits(1, 0), 100, []scan{{missing: 100}}},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			at, count := time.Unix(1_700_000_000, 0).UnixMicro(), test.count
			for i, scan := range test.scans {
				at += scan.after.Microseconds()
				count += scan.created
				if scan.confirm {
					s.Confirmed = s.Held
				}
				var hold bool
				s, hold = s.Judge(test.limits, Found{at, at, count, scan.created, scan.missing, scan.fresh})
				if hold != scan.hold {
					t.Fatalf("scan %d: hold %t, state %+v", i, hold, s)
				}
				if !hold {
					count -= scan.missing
				}
				if (s.Held > 0) != hold || (s.Since > 0) != hold {
					t.Errorf("scan %d: hold %t, state %+v", i, hold, s)
				}
			}
		})
	}
}

// TestD10_NothingToSave has nothing to write after scans without a change.
func TestD10_NothingToSave(t *testing.T) {
	l := NewLimits(0, time.Hour)
	var s State
	for at := range int64(5) {
		next, _ := s.Judge(l, Found{Begun: 1 + at*time.Hour.Microseconds(), At: 1 + at*time.Hour.Microseconds(), Count: 10})
		if next != s {
			t.Fatalf("%+v", next)
		}
	}
	s, _ = s.Judge(l, Found{Begun: 1, At: 1, Count: 10, Missing: 1})
	s, _ = s.Judge(l, Found{Begun: 3 * time.Hour.Microseconds(), At: 3 * time.Hour.Microseconds(), Count: 9})
	if s != (State{}) {
		t.Errorf("%+v is left of a deletion three periods ago", s)
	}
}
