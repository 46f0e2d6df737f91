package partition

import (
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

func TestRangeNames(t *testing.T) {
	for _, tt := range []struct {
		r    resourcesync.Range
		want string
	}{
		{resourcesync.Range{}, "~"},
		{resourcesync.Range{To: "b"}, "~Yg"},
		{resourcesync.Range{From: "b"}, "Yg~"},
		{resourcesync.Range{From: "archive", To: "cmd"}, "YXJjaGl2ZQ~Y21k"},
		{resourcesync.Range{From: "net/h", To: "net/u"}, "bmV0L2g~4.dQ"},
		{resourcesync.Range{From: "a", To: "ab"}, "YQ~1.Yg"},
		{resourcesync.Range{From: "\x00\xff", To: "é"}, "AP8~w6k"},
	} {
		got := FormatRange(tt.r)
		if got != tt.want {
			t.Errorf("%q is named %s, want %s", tt.r, got, tt.want)
		}
		if r, ok := ParseRange(got); !ok || r != tt.r {
			t.Errorf("%s means %q, want %q", got, r, tt.r)
		}
	}
	for _, name := range []string{
		"", "YQ", "YQ~YQ", "Yg~YQ", "YQ~1.", "YQ~0.Yg", "YQ~2.Yg", "YQ~-1.Yg", "YQ~+1.Yg", "YQ~01.Yg",
		"YQ~YWI", "YQ==~Yg==", "Y~Z", "a b~", "~~", strings.Repeat("Y", 5000) + "~",
	} {
		if r, ok := ParseRange(name); ok {
			t.Errorf("%q is taken for %q", name, r)
		}
	}
}
