// Package webpage renders HTML pages with a common look: a layout with a header, a trail
// of links and a footer, one style sheet for light and dark, and building blocks for
// tables, facts, badges and commands. It knows nothing about ResourceSync.
//
// Style sheet, script and icon are part of each page. A page therefore needs no other
// request and no assets at known paths, and its Content-Security-Policy can allow exactly
// these bytes and nothing else.
package webpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

//go:embed all:look
var embedded embed.FS

// The files that are not pages. All others that end in .html are, except those whose names
// begin with '_': they define templates for the others.
const (
	layoutFile = "layout.html"
	partsFile  = "parts.html"
	styleFile  = "style.css"
	scriptFile = "script.js"
)

// Templates are the templates of pages. They are safe for concurrent use.
type Templates struct {
	pages  map[string]*template.Template
	style  string
	script string
	policy string
}

// New parses templates. Each file of pages that ends in .html is the content of a page, in
// the language of html/template, and a file whose name begins with '_' defines templates for
// all of them; script.js, if there is one, is part of every page. A file
// of replace, which may be nil, replaces the one with the same name: a page, the script, or
// one of layout.html, parts.html and style.css of this package. If replace has files, pages
// may also load styles, images and fonts of the same origin.
func New(pages, replace fs.FS) (*Templates, error) {
	look, err := fs.Sub(embedded, "look")
	if err != nil {
		return nil, err
	}
	if err := known(replace, pages, look); err != nil {
		return nil, err
	}
	layers := []fs.FS{replace, pages, look}
	var (
		t    = &Templates{pages: make(map[string]*template.Template)}
		text [4]string
	)
	for i, name := range []string{layoutFile, partsFile, styleFile, scriptFile} {
		if text[i], err = read(layers, name); err != nil && (name != scriptFile || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	t.style, t.script = text[2], text[3]
	t.policy = policy(t.style, t.script, replace != nil)
	base, err := template.New(layoutFile).Funcs(functions).Parse(text[0])
	if err == nil {
		_, err = base.New(partsFile).Parse(text[1])
	}
	if err != nil {
		return nil, err
	}
	shared, err := fs.Glob(pages, "_*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range shared {
		text, err := read(layers, name)
		if err == nil {
			_, err = base.New(name).Parse(text)
		}
		if err != nil {
			return nil, err
		}
	}
	names, err := fs.Glob(pages, "[^_]*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == layoutFile || name == partsFile {
			continue
		}
		if t.pages[strings.TrimSuffix(name, path.Ext(name))], err = parse(base, layers, name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// known returns an error if replace, which may be nil, cannot be read, or has a template that
// replaces none.
func known(replace fs.FS, layers ...fs.FS) error {
	if replace == nil {
		return nil
	}
	entries, err := fs.ReadDir(replace, ".")
	if err != nil {
		return fmt.Errorf("page templates: %w", err)
	}
	var names []string
	for _, l := range layers {
		found, err := fs.Glob(l, "*.html")
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	for _, e := range entries {
		if path.Ext(e.Name()) == ".html" && !slices.Contains(names, e.Name()) {
			return fmt.Errorf("page template %s replaces none: the names are %s", e.Name(), strings.Join(names, ", "))
		}
	}
	return nil
}

// parse returns the template of a page, which is the layout with the page as its content.
func parse(base *template.Template, layers []fs.FS, name string) (*template.Template, error) {
	text, err := read(layers, name)
	if err != nil {
		return nil, err
	}
	page, err := base.Clone()
	if err != nil {
		return nil, err
	}
	_, err = page.New("content").Parse(text)
	return page, err
}

// read returns the text of a file in the first of the layers that has it.
func read(layers []fs.FS, name string) (string, error) {
	for _, l := range layers {
		if l == nil {
			continue
		}
		text, err := fs.ReadFile(l, name)
		if err == nil {
			// A browser hashes text with these line ends only.
			return strings.ReplaceAll(string(text), "\r\n", "\n"), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("page template: %w", err)
		}
	}
	return "", fmt.Errorf("page template %s: %w", name, fs.ErrNotExist)
}

// A Link is a link to a page.
type Link struct{ Text, URL string }

// A Page holds the data of the layout and of the content of a page.
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

	// Now is the time of the page: it is shown in the footer, and ages count from it.
	Now time.Time

	// Data is the value of $.Data in the template of the content.
	Data any

	t *Templates
}

// Style is the style sheet of the page.
func (p *Page) Style() template.CSS { return template.CSS(p.t.style) } //nolint:gosec // a file of the program or of its host

// Script is the script of the page, which may be empty.
func (p *Page) Script() template.JS { return template.JS(p.t.script) } //nolint:gosec // a file of the program or of its host

// Ago returns the age of at in words. It is empty if at is zero.
func (p *Page) Ago(at time.Time) string { return age(p.Now.Sub(at), at.IsZero()) }

// Render returns the HTML of the page whose template has this name, without .html. It
// changes p, which therefore belongs to one call.
func (t *Templates) Render(name string, p *Page) ([]byte, error) {
	page := t.pages[name]
	if page == nil {
		return nil, fmt.Errorf("page template %s.html: %w", name, fs.ErrNotExist)
	}
	p.t = t
	var b bytes.Buffer
	err := page.ExecuteTemplate(&b, layoutFile, p)
	return b.Bytes(), err
}

// SetHeaders sets the header fields of an HTML page except those about caching. The script
// of the page may connect to the origins or URLs in connect, and forms lead to its own
// origin only.
func (t *Templates) SetHeaders(h http.Header, connect ...string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	csp := t.policy
	if len(connect) > 0 {
		csp += "; connect-src " + strings.Join(connect, " ")
	}
	h.Set("Content-Security-Policy", csp)
}

// policy returns the Content-Security-Policy of pages: it allows only their own style sheet
// and script and, if a host has replaced files, styles, images and fonts of its origin.
func policy(style, script string, own bool) string {
	styles, images := hash(style), "data:"
	if own {
		styles, images = "'self' "+styles, "'self' data:; font-src 'self'"
	}
	csp := "default-src 'none'; style-src " + styles + "; img-src " + images +
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
