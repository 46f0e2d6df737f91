package linkheader

import (
	"reflect"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

func TestAppendLink(t *testing.T) {
	tests := []struct {
		name string
		link Link
		want string
	}{
		{"core example 10",
			Link{Target: "http://www.example.com/dataset1/capabilitylist.xml", Rel: resourcesync.RelResourceSync},
			`<http://www.example.com/dataset1/capabilitylist.xml>; rel="resourcesync"`},
		{"all of it",
			Link{"/a?b=c&d=%20#e", "x " + resourcesync.RelPatch, "#f"},
			`</a?b=c&d=%20#e>; rel="x http://www.openarchives.org/rs/terms/patch"; anchor="#f"`},
		{"beyond ASCII", Link{"/é", "é", "é"}, `</%C3%A9>; rel="%C3%A9"; anchor="%C3%A9"`},
		{"not UTF-8", Link{"/\xff", "x", ""}, `</%FF>; rel="x"`},
		{"white space in rel", Link{"/", " x \t y\r\n", ""}, `</>; rel="x y"`},

		// What would break out.
		{"target", Link{">; rel=\"y\", <z\r\nSet-Cookie: a=b\x00", "x", ""},
			`<%3E;%20rel=%22y%22,%20%3Cz%0D%0ASet-Cookie:%20a=b%00>; rel="x"`},
		{"rel and anchor", Link{"/", `x"; y="`, "\"\\\n"},
			`</>; rel="x%22; y=%22"; anchor="%22%5C%0A"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.link.String(); got != test.want {
				t.Errorf("String\n got %s\nwant %s", got, test.want)
			}
			if got := string(AppendLink([]byte("before, "), test.link)); got != "before, "+test.want {
				t.Errorf("AppendLink = %s", got)
			}
		})
	}
}

// Whatever is written is one element of a list, and stays so between others.
func FuzzAppendLink(f *testing.F) {
	f.Add("/a", "x y", "#b")
	f.Add(">", `"`, "\n")
	f.Add("é\xff", "é", "\\\"\r\n")
	f.Fuzz(func(t *testing.T, target, rel, anchor string) {
		l := Link{Target: target, Rel: rel, Anchor: anchor}
		written := l.String()
		checkValue(t, written)
		if strings.Trim(rel, space) == "" || len(written) > MaxBytes/2 {
			return
		}
		links := Parse("<1>; rel=first, " + written + ", <2>; rel=last")
		if len(links) != 3 || links[0].Rel != "first" || links[2].Rel != "last" {
			t.Fatalf("%q is not one element: %#v", written, links)
		}
		if again := Parse(links[1].String()); !reflect.DeepEqual(again, links[1:2]) {
			t.Fatalf("%#v, written and parsed: %#v", links[1], again)
		}
	})
}

// checkValue fails unless s may be the value of a header field.
func checkValue(t *testing.T, s string) {
	t.Helper()
	for i := range len(s) {
		if c := s[i]; c != '\t' && (c < ' ' || c > '~') {
			t.Fatalf("%q has the byte %#x", s, c)
		}
	}
}

func TestAppendLinkAllocates(t *testing.T) {
	l := Link{Target: "http://example.org/", Rel: "x", Anchor: "é"}
	b := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { b = AppendLink(b[:0], l) }); n != 0 {
		t.Errorf("%v allocations into a slice that has room, want none", n)
	}
}
