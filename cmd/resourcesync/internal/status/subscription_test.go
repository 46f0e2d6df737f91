package status

import (
	"fmt"
	"testing"
)

// TestWorst: of many subscriptions, those that need attention are kept.
func TestWorst(t *testing.T) {
	var w Worst
	for i := range 100_000 {
		s := Subscription{Host: fmt.Sprint(i), Pending: int64(i % 10)}
		if i%2000 == 77 {
			s.Failures = i
		}
		w.Add(s)
		if len(w.all) > 4*ShownSubscriptions {
			t.Fatalf("%d are kept", len(w.all))
		}
	}
	all := w.First()
	if len(all) != ShownSubscriptions || all[0].Failures != 98077 || all[49].Failures != 77 || all[50].Pending != 9 || all[99].Pending != 9 {
		t.Errorf("%+v", all)
	}
}
