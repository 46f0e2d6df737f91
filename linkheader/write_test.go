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
			Link{"/a?b=c&d=%20#e", "x " + resourcesync.RelPatch, "#f", []Param{{"type", "text/html"}, {"title", "g"}}},
			`</a?b=c&d=%20#e>; rel="x http://www.openarchives.org/rs/terms/patch"; anchor="#f"; type="text/html"; title="g"`},
		{"quoting", Link{"", "x", "", []Param{{"title", "a \"b\"\t\\c,;<>"}}},
			"<>; rel=\"x\"; title=\"a \\\"b\\\"\t\\\\c,;<>\""},
		{"beyond ASCII", Link{"/é", "é", "é", []Param{{"title", "é'%1"}}},
			`</%C3%A9>; rel="%C3%A9"; anchor="%C3%A9"; title*=UTF-8''%C3%A9%27%251`},
		{"all of a name if one is beyond ASCII", Link{"/", "x", "", []Param{{"hreflang", "a"}, {"Hreflang", "é"}}},
			`</>; rel="x"; hreflang*=UTF-8''a; Hreflang*=UTF-8''%C3%A9`},
		{"not UTF-8", Link{"/\xff", "x", "", []Param{{"title", "a\xffb"}}},
			`</%FF>; rel="x"; title*=UTF-8''a%EF%BF%BDb`},
		{"white space in rel", Link{"/", " x \t y\r\n", "", nil}, `</>; rel="x y"`},

		// What would break out.
		{"target", Link{">; rel=\"y\", <z\r\nSet-Cookie: a=b\x00", "x", "", nil},
			`<%3E;%20rel=%22y%22,%20%3Cz%0D%0ASet-Cookie:%20a=b%00>; rel="x"`},
		{"rel and anchor", Link{"/", `x"; y="`, "\"\\\n", nil},
			`</>; rel="x%22; y=%22"; anchor="%22%5C%0A"`},
		{"parameter", Link{"/", "x", "", []Param{{"title", "\"\r\nSet-Cookie: a=b\x7f"}, {"name", "\r\né"}}},
			`</>; rel="x"; title="\"  Set-Cookie: a=b "; name*=UTF-8''%20%20%C3%A9`},
		{"names", Link{"/", "x", "", []Param{{"", "a"}, {"a b", "a"}, {"a\n", "a"}, {"é", "a"}, {"t*", "a"}, {"Rel", "a"}, {"anchor", "a"}, {"ok", "a"}}},
			`</>; rel="x"; ok="a"`},
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
	f.Add("/a", "x y", "#b", "title", "c")
	f.Add(">", `"`, "\n", "a=b", "\\\"\r\n")
	f.Add("é\xff", "é", "é", "t*", "é\xff")
	f.Fuzz(func(t *testing.T, target, rel, anchor, name, value string) {
		l := Link{Target: target, Rel: rel, Anchor: anchor, Params: []Param{{name, value}}}
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
	l := Link{Target: "http://example.org/", Rel: "x", Params: []Param{{"title", "y"}, {"title", "é"}}}
	b := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { b = AppendLink(b[:0], l) }); n != 0 {
		t.Errorf("%v allocations into a slice that has room, want none", n)
	}
}
