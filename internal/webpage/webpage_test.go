package webpage

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newLook(t *testing.T, script string, own Own) *Look {
	t.Helper()
	l, err := New(script, own)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func render(t *testing.T, l *Look, p *Page, content templ.Component) string {
	t.Helper()
	html, err := l.Render(p, content)
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

// TestRender renders a page whose values are hostile: none becomes markup or a script.
func TestRender(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	facts := []Fact{{Name: "<b>", Value: evil, Note: evil}}
	got := render(t, newLook(t, "go()", Own{}), &Page{
		Title: "A <list>", Site: "example.org", Home: "/", Now: noon, Intro: evil,
		Trail: []Link{{"Top", "/top"}, {evil, "/" + evil}}, Nav: []Link{{evil, " JavaScript:alert(1)"}},
		Raw: "javascript:alert(1)", RawType: evil,
	}, templ.Join(Facts(facts), Code(evil), Badge("created"), Badge(evil), Head([]Column{{Name: evil, Class: evil}}),
		Pages(Pager{First: "vbscript:x", Previous: "data:text/html,x", Next: "java\nscript:alert(1)", Note: evil})))
	for _, want := range []string{
		"<title>A &lt;list&gt; · example.org</title>",
		`<dt>&lt;b&gt;</dt><dd>&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt; <small>`,
		`<span class="badge created">created</span>`,
		`<li><a href="/top">Top</a></li>`,
		`<li aria-current="page">A &lt;list&gt;</li>`,
		"<script>go()</script>",
		`<time datetime="2026-11-22T12:00:00Z">22 Nov 2026, 12:00:00 UTC</time>`,
		`<link rel="alternate" type="&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;" href="about:invalid`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, scheme := range []string{"script:", "data:text", "<script>alert"} {
		if strings.Contains(strings.ToLower(got), scheme) {
			t.Errorf("the page has %s:\n%s", scheme, got)
		}
	}
	if n := strings.Count(got, `href="about:invalid`); n != 6 {
		t.Errorf("%d URLs were replaced, want 6", n)
	}
}

var inlined = regexp.MustCompile(`(?s)<(style|script)>(.*?)</`)

// TestPolicy compares the policy with the bytes that a browser hashes.
func TestPolicy(t *testing.T) {
	for name, own := range map[string]Own{"built-in look": {}, "with a style": {Style: "p { color: red }\r\n"}, "with a header": {Header: "<p>Ours</p>"}} {
		l := newLook(t, "go()\r\n", own)
		h := http.Header{}
		l.SetHeaders(h, "wss://example.org/change/websocket")
		csp := h.Get("Content-Security-Policy")
		found := inlined.FindAllStringSubmatch(render(t, l, &Page{}, templ.NopComponent), -1)
		if len(found) != 2 {
			t.Fatalf("%s: %d inlined texts", name, len(found))
		}
		for _, m := range found {
			sum := sha256.Sum256([]byte(m[2]))
			if want := m[1] + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(csp, want) {
				t.Errorf("%s: the policy is %s, without %s", name, csp, want)
			}
		}
		if !strings.HasSuffix(csp, "; connect-src wss://example.org/change/websocket") || !strings.HasPrefix(csp, "default-src 'none'; ") {
			t.Errorf("%s: the policy is %s", name, csp)
		}
		if self := strings.Contains(csp, "img-src 'self' data:; font-src 'self';"); self != (own != Own{}) {
			t.Errorf("%s: images and fonts of the same origin allowed: %t", name, self)
		}
	}
}

// TestOwn: the host's style sheet follows the built-in one, and its HTML surrounds the page.
func TestOwn(t *testing.T) {
	got := render(t, newLook(t, "", Own{Style: "p { color: red }", Header: "<p>Above</p>", Footer: "<p>Below</p>"}), &Page{Footer: templ.NopComponent}, Badge("x"))
	last := 0
	for _, want := range []string{"--", "p { color: red }</style>", "<p>Above</p>", `<header class="top">`, `<span class="badge`, "</footer><p>Below</p></body>"} {
		at := strings.Index(got, want)
		if at < last {
			t.Errorf("%s is at %d, want it after %d", want, at, last)
		}
		last = at
	}
	if _, err := New("", Own{Style: "p{}</Style><script>"}); err == nil {
		t.Error("a style sheet with an end tag was accepted")
	}
}

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{0: "0 entries", 1: "1 entry", 1234567: "1,234,567 entries"} {
		if got := Number(n, "entry"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	p := Page{Now: noon}
	for d, want := range map[time.Duration]string{
		0: "now", -time.Minute: "1 minute from now", 3 * time.Second: "3 seconds ago", 90 * time.Second: "1 minute ago",
		2 * time.Hour: "2 hours ago", 36 * time.Hour: "1 day ago", 70 * 24 * time.Hour: "2 months ago", 800 * 24 * time.Hour: "2 years ago",
	} {
		if got := p.Ago(noon.Add(-d)); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	if got := p.Ago(time.Time{}); got != "" {
		t.Errorf("no time: %s", got)
	}
}
