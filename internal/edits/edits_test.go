package edits

import "testing"

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"ab", "", 2}, {"serve", "serve", 0}, {"sevre", "serve", 1}, {"serv", "serve", 1}, {"kitten", "sitting", 3}, {"abcd", "badc", 2}} {
		if got := Distance(test.a, test.b, 3); got != test.want {
			t.Errorf("from %q to %q: %d edits, want %d", test.a, test.b, got, test.want)
		}
	}
}
