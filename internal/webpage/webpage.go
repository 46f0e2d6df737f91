// Package webpage renders HTML pages with a common look: a layout with a header, a trail
// of links and a footer, one style sheet for light and dark, and building blocks for
// tables, facts, badges and commands. It knows nothing about ResourceSync.
//
// The files that end in .templ are the templates, from which templ generates Go. They escape
// texts, and replace URLs whose scheme could run a script.
//
// Style sheet, script and icon are part of each page. A page therefore needs no other
// request and no assets at known paths, and its Content-Security-Policy can allow exactly
// these bytes and nothing else.
package webpage

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the style sheet
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

//go:embed style.css
var builtinStyle string

// A Look is what pages have in common. It is safe for concurrent use.
type Look struct {
	style, script  string // elements; script may be empty
	header, footer string // HTML of the host
	policy         string
}

// Own is what a host adds to the look of pages. If a field is set, pages may also load images
// and fonts of the same origin.
type Own struct {
	Style          string // CSS that follows the built-in style sheet
	Header, Footer string // HTML at the top and at the bottom of each page
}

// New returns the look of pages with a script, which may be empty.
func New(script string, own Own) (*Look, error) {
	if strings.Contains(strings.ToLower(own.Style), "</style") {
		return nil, errors.New("the style sheet has an end tag: give CSS only")
	}
	if !utf8.ValidString(own.Style) || strings.Contains(own.Style, "\x00") { // a browser would hash another text
		return nil, errors.New("the style sheet is not UTF-8 text: save it as UTF-8")
	}
	// A browser hashes text with these line ends only.
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	style := lines.Replace(builtinStyle + own.Style)
	script = lines.Replace(script)
	l := &Look{style: "<style>" + style + "</style>", header: own.Header, footer: own.Footer, policy: policy(style, script, own != Own{})}
	if script != "" {
		l.script = "<script>" + script + "</script>"
	}
	return l, nil
}

// A Link is a link to a page.
type Link struct{ Text, URL string }

// A Page holds the data of the layout of a page.
type Page struct {
	Title string // the heading, and with Site the title of the window
	Intro string // a sentence or two below the heading; may be empty
	Site  string // the name in the header, which links to Home
	Home  string // URL
	Trail []Link // the pages above this one, from the top
	Nav   []Link // further links in the header, such as the raw document

	// Raw is the URL of the same data for programs, and RawType its media type. If Raw
	// is empty, there is none.
	Raw, RawType string

	// Now is the time of the page: ages count from it.
	Now time.Time

	// Footer is a sentence in the footer. If nil, it shows Now.
	Footer templ.Component
}

// window returns the title of the window.
func (p *Page) window() string {
	if p.Title == p.Site {
		return p.Title
	}
	return p.Title + " · " + p.Site
}

// rawName returns the name of the format of p.Raw.
func (p *Page) rawName() string {
	if p.RawType == "application/json" {
		return "JSON"
	}
	return "XML"
}

// Ago returns the age of at in words. It is empty if at is zero.
func (p *Page) Ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return humanize.RelTime(at, p.Now, "ago", "from now")
}

// Age returns the fact of a time, or none if it is unknown.
func (p *Page) Age(name string, at time.Time) []Fact {
	if at.Unix() <= 0 {
		return nil
	}
	return []Fact{{Name: name, Value: p.Ago(at), Note: timetext.Of(at)}}
}

// Render returns the HTML of a page.
func (l *Look) Render(p *Page, content templ.Component) ([]byte, error) {
	var b bytes.Buffer
	err := l.layout(p, content).Render(context.Background(), &b)
	return b.Bytes(), err
}

// SetHeaders sets the header fields of an HTML page except those about caching. The script
// of the page may connect to the origins or URLs in connect, and forms lead to its own
// origin only.
func (l *Look) SetHeaders(h http.Header, connect ...string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	csp := l.policy
	if len(connect) > 0 {
		csp += "; connect-src " + strings.Join(connect, " ")
	}
	h.Set("Content-Security-Policy", csp)
}

// policy returns the Content-Security-Policy of pages: it allows only their own style sheet
// and script and, if a host has added something, images and fonts of its origin.
func policy(style, script string, own bool) string {
	images := "data:"
	if own {
		images = "'self' data:; font-src 'self'"
	}
	csp := "default-src 'none'; style-src " + hash(style) + "; img-src " + images +
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	if script != "" {
		csp += "; script-src " + hash(script)
	}
	return csp
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
