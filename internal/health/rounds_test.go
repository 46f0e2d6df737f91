package health

import (
	"fmt"
	"testing"
)

// TestD11_Rounds logs problems when they begin and when they change.
func TestD11_Rounds(t *testing.T) {
	var rounds Rounds
	round := func(wantLines, wantTotal int, wantNews bool, trouble ...string) {
		t.Helper()
		r, lines := rounds.Begin(), 0
		for i, text := range trouble {
			if r.News(fmt.Sprint("file ", i), text) {
				lines++
			}
		}
		total, news := r.End()
		if lines != wantLines || total != wantTotal || news != wantNews {
			t.Errorf("%d lines, total %d, %t", lines, total, news)
		}
	}
	round(0, 0, false)
	round(2, 2, false, "no permission", "no permission")
	round(0, 2, false, "no permission", "no permission")
	round(1, 2, false, "no permission", "input/output error")
	round(1, 3, false, "no permission", "input/output error", "no permission")
	round(0, 1, true, "no permission")
	round(0, 0, true)

	many := make([]string, 3*maxSeen)
	round(maxLines, len(many), true, many...)
	round(0, len(many), false, many...)
	rounds.Begin().News("file 0", "of a round that does not end")
	round(0, len(many)-1, true, many[1:]...)
}
