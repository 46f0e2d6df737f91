package copyname_test

import (
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/copyname"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("a", copyname.Max)
	for name, valid := range map[string]bool{
		"library-berlin": true, "a.b_c~1": true, long: true,
		"": false, "two words": false, "a)": false, "(a": false, "a=b": false, "ä": false, "a\r\nX: y": false, long + "a": false,
	} {
		if copyname.Valid(name) != valid {
			t.Errorf("%q: valid is %t", name, !valid)
		}
		if got := copyname.In(copyname.Add("resourcesync/1 (+https://example.org/)", name)); valid && got != name {
			t.Errorf("%q became %q", name, got)
		}
	}
	for agent, want := range map[string]string{
		"": "", "(name=": "", "(name=)": "", "curl/8 (name=a b) (name=c)": "c", "x (name=a) (name=b)": "a",
		"a) (name=b)": "b", "(name=(name=c)": "c", "(name=)(name=a)": "a", strings.Repeat("(name=", 100): "", "(+https://example.org/) (name=a": "",
	} {
		if got := copyname.In(agent); got != want {
			t.Errorf("%q has the name %q", agent, got)
		}
	}
}
