package webpage

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func files(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func render(t *testing.T, templates *Templates, name string, p *Page) string {
	t.Helper()
	html, err := templates.Render(name, p)
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

func TestRender(t *testing.T) {
	templates, err := New(files("list.html", `<p>{{.Data}}</p>{{template "mark"}}`, "_mark.html", `{{define "mark"}}{{template "badge" "created"}}{{end}}`, "script.js", "go()"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, templates, "list", &Page{
		Title: "A <list>", Site: "example.org", Home: "/", Now: noon, Data: `<script>alert(1)</script>`,
		Trail: []Link{{"Top", "/top"}}, Raw: "javascript:alert(1)", RawType: "application/xml",
	})
	for _, want := range []string{
		"<title>A &lt;list&gt; · example.org</title>",
		"<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
		`<span class="badge created">created</span>`,
		`<li><a href="/top">Top</a></li><li aria-current="page">A &lt;list&gt;</li>`,
		"<script>go()</script>",
		`<time datetime="2026-11-22T12:00:00Z">22 Nov 2026, 12:00:00 UTC</time>`,
		`href="#ZgotmplZ"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(got, "javascript:") {
		t.Error("the page has a link with a script")
	}
	if _, err := templates.Render("none", &Page{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a page without template: %v", err)
	}
}

var inlined = regexp.MustCompile(`(?s)<(style|script)>(.*?)</`)

// TestPolicy compares the policy with the bytes that a browser hashes.
func TestPolicy(t *testing.T) {
	pages := files("list.html", "", "script.js", "go()\r\n")
	for name, replace := range map[string]fs.FS{"own look": nil, "replaced style": files("style.css", "p { color: red }\r\n")} {
		templates, err := New(pages, replace)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		templates.SetHeaders(h, "wss://example.org/change/websocket")
		csp := h.Get("Content-Security-Policy")
		found := inlined.FindAllStringSubmatch(render(t, templates, "list", &Page{}), -1)
		if len(found) != 2 {
			t.Fatalf("%s: %d inlined texts", name, len(found))
		}
		for _, m := range found {
			sum := sha256.Sum256([]byte(m[2]))
			want := m[1] + "-src "
			if m[1] == "style" && replace != nil {
				want += "'self' "
			}
			want += "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy is %s, without %s", name, csp, want)
			}
		}
		if !strings.HasSuffix(csp, "; connect-src wss://example.org/change/websocket") || !strings.HasPrefix(csp, "default-src 'none'; ") {
			t.Errorf("%s: the policy is %s", name, csp)
		}
	}
}

func TestReplace(t *testing.T) {
	templates, err := New(files("list.html", "ours"), files("list.html", "theirs {{template \"badge\" \"x\"}}", "parts.html", `{{define "badge"}}[{{.}}]{{end}}{{define "footer"}}{{end}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := render(t, templates, "list", &Page{}); !strings.Contains(got, "theirs [x]") {
		t.Errorf("got %s", got)
	}
	if _, err := New(files(), files("layout.html", "{{")); err == nil || !strings.Contains(err.Error(), "layout.html") {
		t.Errorf("a broken layout: %v", err)
	}
}

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 99_949: "99.9 kB", 99_950: "100 kB", 999_499: "999 kB", 999_500: "1.0 MB", 1_000_000: "1.0 MB", 1 << 40: "1.1 TB", 1<<63 - 1: "9.2 EB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
	p := Page{Now: noon}
	for d, want := range map[time.Duration]string{
		0: "just now", -time.Minute: "in the future", 3 * time.Second: "3 seconds ago", 90 * time.Second: "1 minute ago",
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
