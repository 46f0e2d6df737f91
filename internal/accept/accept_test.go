package accept

import "testing"

func TestGzip(t *testing.T) {
	for _, test := range []struct {
		values []string
		want   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"gzip"}, true},
		{[]string{"GZIP"}, true},
		{[]string{"x-gzip"}, true},
		{[]string{"deflate, gzip;q=0.5"}, true},
		{[]string{"deflate", "gzip"}, true},
		{[]string{"*"}, true},
		{[]string{"*;q=0"}, false},
		{[]string{"gzip;q=0, *"}, false},
		{[]string{"gzip;q=0.5, identity;q=0.8"}, false},
		{[]string{"gzip;q=0.8, identity;q=0.8"}, true},
		{[]string{"gzip; q=2"}, false},
		{[]string{"gzip; level=1"}, false},
		{[]string{"br, zstd"}, false},
	} {
		if got := Gzip(test.values); got != test.want {
			t.Errorf("Gzip(%q) is %t", test.values, got)
		}
	}
}
