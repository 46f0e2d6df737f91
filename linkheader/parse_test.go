package linkheader

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	link := func(target, rel string) Link { return Link{Target: target, Rel: rel} }
	tests := []struct {
		name   string
		values []string
		want   []Link
	}{
		{"none", nil, nil},
		{"empty", []string{"", " ", ",", ", ,"}, nil},

		// The specification's, and those of RFC 8288, section 3.5.
		{"core example 10", []string{`<http://www.example.com/dataset1/capabilitylist.xml>; rel="resourcesync"`},
			[]Link{link("http://www.example.com/dataset1/capabilitylist.xml", "resourcesync")}},
		{"previous chapter", []string{`<http://example.com/TheBook/chapter2>; rel="previous"; title="previous chapter"`},
			[]Link{link("http://example.com/TheBook/chapter2", "previous")}},
		{"extension relation type", []string{`</>; rel="http://example.net/foo"`},
			[]Link{link("/", "http://example.net/foo")}},
		{"anchor", []string{`</terms>; rel="copyright"; anchor="#foo"`},
			[]Link{{Target: "/terms", Rel: "copyright", Anchor: "#foo"}}},
		{"encoded titles", []string{`</TheBook/chapter2>; rel="previous"; title*=UTF-8'de'letztes%20Kapitel, </TheBook/chapter4>; rel="next"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel`},
			[]Link{
				link("/TheBook/chapter2", "previous"),
				link("/TheBook/chapter4", "next"),
			}},
		{"several relation types", []string{`<http://example.org/>; rel="start http://example.net/relation/other"`},
			[]Link{link("http://example.org/", "start http://example.net/relation/other")}},

		// Several.
		{"several in a value", []string{`<a>;rel=x,<b>;rel=y , ,<c>; rel=z,`},
			[]Link{link("a", "x"), link("b", "y"), link("c", "z")}},
		{"several values", []string{`<a>; rel=x`, `<b>; rel=y, <c>; rel=z`},
			[]Link{link("a", "x"), link("b", "y"), link("c", "z")}},

		// Commas and semicolons where they separate nothing.
		{"in a target", []string{`<a,b;c>; rel=x, <d>; rel=y`}, []Link{link("a,b;c", "x"), link("d", "y")}},
		{"in a quoted string", []string{`<a>; title="1, 2; rel=no, <n>"; rel=x, <b>; rel=y`},
			[]Link{link("a", "x"), link("b", "y")}},
		{"after an escaped quotation mark", []string{`<a>; title="\",\\"; rel=x, <b>; rel=y`},
			[]Link{link("a", "x"), link("b", "y")}},

		// White space and case.
		{"white space", []string{"\t< a >\t;\trel\t=\t\" x\t y \"\t;\ttype = a/b\t"},
			[]Link{link("a", "x y")}},
		{"no white space", []string{`<a>;rel="x";type=a/b`}, []Link{link("a", "x")}},
		{"folded lines", []string{"<a>;\r\n rel=\"x\"\r\n"}, []Link{link("a", "x")}},
		{"case", []string{`<A>; REL=X; Type=A/B`}, []Link{link("A", "X")}},

		// Repeated parameters.
		{"first rel counts", []string{`<a>; rel=x; rel=y`}, []Link{link("a", "x")}},
		{"even if empty", []string{`<a>; rel=""; rel=y`}, nil},
		{"first anchor, media, title and type count", []string{`<a>; rel=x; anchor=""; anchor="#y"; media=m; media=n; title=t; title=u; type=v; type=w`},
			[]Link{link("a", "x")}},
		{"all others count", []string{`<a>; rel=x; hreflang=de; hreflang=en`},
			[]Link{link("a", "x")}},

		// RFC 8187.
		{"encoded counts before plain", []string{`<a>; title=e; rel=x; title*=utf-8''%C3%A9; title=f`},
			[]Link{link("a", "x")}},
		{"plain counts if the charset is unknown", []string{`<a>; rel=x; title*=iso-8859-1''%E9; title=e`},
			[]Link{link("a", "x")}},
		{"or the encoding is broken", []string{`<a>; rel=x; title*=UTF-8''%zz; title*=UTF-8''%FF; title*=e; title=e`},
			[]Link{link("a", "x")}},
		{"encoded in quotes", []string{`<a>; rel=x; title*="UTF-8''%C3%A9"`},
			[]Link{link("a", "x")}},
		{"rel and anchor are never encoded", []string{`<a>; rel*=UTF-8''y; anchor*=UTF-8''y; rel=x`},
			[]Link{link("a", "x")}},

		// Missing and broken parts.
		{"no target", []string{`; rel=x, rel=y, <b>; rel=z`}, []Link{link("b", "z")}},
		{"empty target", []string{`<>; rel=self`}, []Link{link("", "self")}},
		{"target without end", []string{`<a; rel=x, b; rel=y`}, nil},
		{"no parameters", []string{`<a>, <b>;, <c>; rel=x`}, []Link{link("c", "x")}},
		{"no relation type", []string{`<a>; title=t, <b>; rel, <c>; rel=" ", <d>; rel=x`}, []Link{link("d", "x")}},
		{"no value", []string{`<a>; rel=x; crossorigin; title=`},
			[]Link{link("a", "x")}},
		{"no name", []string{`<a>; =x; ; rel=y`}, []Link{link("a", "y")}},
		{"name that is not a token", []string{`<a>; "t"=u; rel=x; n@me=v; *=w`}, []Link{link("a", "x")}},
		{"quoted string without end", []string{`<a>; rel="x`, `<b>; rel=x; title="t\`},
			[]Link{link("a", "x"), link("b", "x")}},
		{"garbage after", []string{`<a>; rel="x" y "z, <no>; rel=x" <no>; rel=x, <b>; rel="x"<no>, <c>; rel=z`},
			[]Link{link("a", "x"), link("b", "x"), link("c", "z")}},
		{"garbage before", []string{`a "b, <no>; rel=x" c, <d>; rel=x`}, []Link{link("d", "x")}},

		// The normal form.
		{"bytes that no URI has", []string{"<http://é/ \\\"\x00>; rel=\"é\x01\"; anchor=\"^ \""},
			[]Link{{Target: "http://%C3%A9/%20%5C%22%00", Rel: "%C3%A9%01", Anchor: "%5E"}}},
		{"control characters and bytes that are not UTF-8", []string{"<a>; rel=x; title=\"\x00\xff\x7f\"; name*=UTF-8''%0D%0Ab"},
			[]Link{link("a", "x")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Parse(test.values...); !reflect.DeepEqual(got, test.want) {
				t.Errorf("Parse(%q)\n got %#v\nwant %#v", test.values, got, test.want)
			}
		})
	}
}

// What exceeds the limits is ignored, and what does not is read.
func TestParseLimits(t *testing.T) {
	one := "<a>; rel=x"
	if got := len(Parse(strings.Repeat(one+", ", MaxLinks+1))); got != MaxLinks {
		t.Errorf("%d links, want %d", got, MaxLinks)
	}
	if got := len(Parse(slices.Repeat([]string{one}, MaxLinks+1)...)); got != MaxLinks {
		t.Errorf("%d links of as many values, want %d", got, MaxLinks)
	}
	if got := len(Parse(one, one+strings.Repeat(" ", MaxBytes-2*len(one)), one)); got != 2 {
		t.Errorf("%d links of three values, the second to the limit, want 2", got)
	}
	params := Parse(one + strings.Repeat("; n=v", 1000) + "; anchor=y")
	if len(params) != 1 || params[0].Anchor != "y" {
		t.Errorf("got %v, want the anchor behind other parameters", params)
	}
}

// A header to the limit of MaxBytes costs a few milliseconds, whatever is in it.
// Anything worse than linear would be noticed here as a test that does not end.
func TestParseHostile(t *testing.T) {
	for _, unit := range []string{
		"<", ">", ",", ";", `"`, `\`, "=", " ", "a", "<>", "<>;", `<>"`, `,"`, `<,`, "<>,", `<>;="\`,
		"<a>;rel=x;", "<a>;title=t", ";title=t;title*=UTF-8''t", "<a>;rel=x,",
	} {
		s := strings.Repeat(unit, MaxBytes/len(unit))
		for _, header := range []string{s, "<a>;rel=x" + s, `<a>;rel="x` + s} {
			if got := Parse(header[:MaxBytes-MaxBytes%len(unit)]); len(got) > MaxLinks {
				t.Errorf("%q…: %d links", unit, len(got))
			}
		}
	}
}

func TestFind(t *testing.T) {
	links := Parse(`<a>; rel="up ResourceSync", <b>; rel=resourcesync; anchor="/elsewhere", <c>; rel=resourcesync-not`,
		`<d>; rel=resourcesync; anchor="", <e>; rel="HTTP://example.org/rel"`)
	tests := []struct {
		rel  string
		want []string
	}{
		{"resourcesync", []string{"a", "d"}},
		{"RESOURCESYNC", []string{"a", "d"}},
		{"up", []string{"a"}},
		{"http://example.org/rel", []string{"e"}},
		{"resource", nil},
		{"", nil},
		{"up resourcesync", nil},
	}
	for _, test := range tests {
		var got []string
		for l := range Find(links, test.rel) {
			got = append(got, l.Target)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("Find(%q) yields %q, want %q", test.rel, got, test.want)
		}
	}
	for l := range Find(links, "resourcesync") {
		if l.Target != "a" {
			t.Error("Find goes on after a break")
		}
		break
	}
}

// What has been parsed is in normal form: written, it is the same when parsed
// again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`<http://www.example.com/dataset1/capabilitylist.xml>; rel="resourcesync"`,
		`</a,b>; rel="x y"; anchor="#c"; title="\"d\\"; title*=UTF-8'de'%C3%A9, <>; rel=z; hreflang=de; hreflang=en`,
		`<a>; rel=x; foo=1; foo*=UTF-8''2; foo*=UTF-8''%E2%82%AC; crossorigin`,
		"<\xff>; rel=\"\x00\"; title=\"\xff\r\n\"",
		`<a; <b>;;=,"<c>; rel="d`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		links := Parse(s)
		if len(links) > MaxLinks || len(s) > MaxBytes && links != nil {
			t.Fatalf("%d links of %d bytes", len(links), len(s))
		}
		for _, l := range links {
			written := l.String()
			checkValue(t, written)
			if len(written) > MaxBytes {
				continue // three times as long, by percent-encoding
			}
			if again := Parse(written); len(again) != 1 || !reflect.DeepEqual(again[0], l) {
				t.Fatalf("%#v\nis written %q\nwhich is %#v", l, written, again)
			}
		}
	})
}
