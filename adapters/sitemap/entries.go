package sitemap

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

const (
	// maxDepth is the maximum depth of elements, and maxText the maximum length of
	// the text of an element that is kept.
	maxDepth = 64
	maxText  = 8 << 10

	// maxToken is the maximum length of an XML token: a tag with its attributes, a
	// comment, or a text.
	maxToken = 1 << 20

	// maxFeed is the maximum size of a JSON document, which is read as a whole.
	maxFeed = 8 << 20
)

// An entry is a URL that a sitemap names.
type entry struct {
	loc      string
	modified time.Time // zero if unknown
	isIndex  bool      // loc is another sitemap
}

// errNoSitemap means that a document has no known format.
var errNoSitemap = errors.New("is not a sitemap, feed or list of URLs")

// readEntries calls yield for each entry of a sitemap, a sitemap index, an RSS or
// Atom feed, a list of URLs as plain text, or a JSON array of objects with a "link",
// "url" or "loc". It reads r once and holds one entry at a time.
func readEntries(r io.Reader, yield func(entry) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	begin, err := br.Peek(512)
	if err != nil && err != io.EOF {
		return err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(begin, []byte("\uFEFF")), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("<")):
		return readXML(br, yield)
	case bytes.HasPrefix(text, []byte("[")):
		return readJSON(io.LimitReader(br, maxFeed), yield)
	case bytes.HasPrefix(text, []byte("http://")), bytes.HasPrefix(text, []byte("https://")):
		return readText(br, yield)
	case len(text) == 0:
		return fmt.Errorf("is empty: %w", errNoSitemap)
	}
	return errNoSitemap
}

// readText reads one URL per line.
func readText(r io.Reader, yield func(entry) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 2*maxText)
	for lines.Scan() {
		loc := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\uFEFF"))
		if loc == "" {
			continue
		}
		if !strings.HasPrefix(loc, "http://") && !strings.HasPrefix(loc, "https://") {
			return fmt.Errorf("line %.80q: %w", loc, errNoSitemap)
		}
		if err := yield(entry{loc: loc}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// readJSON reads an array of objects, as REST interfaces of content management systems
// return it.
func readJSON(r io.Reader, yield func(entry) error) error {
	var items []struct {
		Link, URL, Loc                  string
		Modified_gmt, Modified, Lastmod string
	}
	if err := json.NewDecoder(r).Decode(&items); err != nil {
		return fmt.Errorf("%w: %w", errNoSitemap, err)
	}
	for _, item := range items {
		e := entry{loc: cmp.Or(item.Link, item.URL, item.Loc), modified: parseTime(cmp.Or(item.Modified_gmt, item.Modified, item.Lastmod))}
		if e.loc == "" {
			continue
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// A field is the meaning of an element, independent of the format.
type field int

const (
	fieldNone field = iota
	fieldEntry
	fieldIndexEntry
	fieldLoc
	fieldModified
	fieldAtomLink
)

// fields are the relevant elements, by the name of the root, which identifies the
// format, and by local name.
var fields = map[string]map[string]field{
	"urlset":       {"url": fieldEntry, "loc": fieldLoc, "lastmod": fieldModified},
	"sitemapindex": {"sitemap": fieldIndexEntry, "loc": fieldLoc, "lastmod": fieldModified},
	"rss":          {"item": fieldEntry, "link": fieldLoc, "pubDate": fieldModified},
	"RDF":          {"item": fieldEntry, "link": fieldLoc, "date": fieldModified},
	"feed":         {"entry": fieldEntry, "link": fieldAtomLink, "updated": fieldModified},
}

// isExtension reports whether an element belongs to a namespace in which names of fields
// mean something else, such as image:loc.
func isExtension(format string, name xml.Name) bool {
	switch format {
	case "urlset", "sitemapindex":
		return name.Space != "" && !strings.HasPrefix(name.Space, "http://www.sitemaps.org/schemas/sitemap/") &&
			!strings.HasPrefix(name.Space, "http://www.google.com/schemas/sitemap/0.")
	case "rss":
		return name.Space != ""
	}
	return false
}

// An xmlReader reads a document in one pass.
type xmlReader struct {
	format map[string]field
	root   string
	yield  func(entry) error

	depth, entryDepth int
	now               entry
	open              field
	text              []byte
}

// A tokenReader fails when a token is too long, because the decoder keeps the complete
// token in memory.
type tokenReader struct {
	r    *bufio.Reader
	left int
}

// Read implements [io.Reader].
func (t *tokenReader) Read(p []byte) (int, error) {
	if t.left <= 0 {
		return 0, errLongToken
	}
	n, err := t.r.Read(p[:min(len(p), t.left)])
	t.left -= n
	return n, err
}

// ReadByte implements [io.ByteReader].
func (t *tokenReader) ReadByte() (byte, error) {
	if t.left <= 0 {
		return 0, errLongToken
	}
	t.left--
	return t.r.ReadByte()
}

var errLongToken = fmt.Errorf("has a tag, a comment or a text of more than %d bytes", maxToken)

func readXML(r *bufio.Reader, yield func(entry) error) error {
	text := &tokenReader{r: r}
	d := xml.NewDecoder(text)
	d.CharsetReader = charset.NewReaderLabel
	x := xmlReader{yield: yield}
	for {
		text.left = maxToken
		token, err := d.Token()
		if err == io.EOF && x.root != "" && x.depth == 0 {
			return nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			err = x.start(token)
		case xml.EndElement:
			err = x.end()
		case xml.CharData:
			if x.open != fieldNone {
				if len(x.text)+len(token) > maxText {
					return errors.New("has an element with too much text")
				}
				x.text = append(x.text, token...)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (x *xmlReader) start(e xml.StartElement) error {
	if x.depth++; x.depth > maxDepth {
		return errors.New("has elements nested too deeply")
	}
	if x.depth == 1 {
		x.root = e.Name.Local
		if x.format = fields[x.root]; x.format == nil {
			return fmt.Errorf("begins with <%.40s>: %w", x.root, errNoSitemap)
		}
		return nil
	}
	f := x.format[e.Name.Local]
	if isExtension(x.root, e.Name) {
		f = fieldNone
	}
	switch {
	case f == fieldEntry || f == fieldIndexEntry:
		x.now, x.entryDepth = entry{isIndex: f == fieldIndexEntry}, x.depth
	case x.entryDepth == 0 || x.depth != x.entryDepth+1:
	case f == fieldAtomLink:
		x.atomLink(e.Attr)
	case f != fieldNone:
		x.open, x.text = f, x.text[:0]
	}
	return nil
}

func (x *xmlReader) atomLink(attrs []xml.Attr) {
	rel, href := "alternate", ""
	for _, a := range attrs {
		switch a.Name.Local {
		case "rel":
			rel = a.Value
		case "href":
			href = a.Value
		}
	}
	if rel == "alternate" && x.now.loc == "" {
		x.now.loc = href
	}
}

func (x *xmlReader) end() error {
	defer func() { x.depth-- }()
	text := strings.TrimSpace(string(x.text))
	switch {
	case x.depth == x.entryDepth && x.entryDepth > 0:
		x.entryDepth = 0
		if x.now.loc != "" {
			return x.yield(x.now)
		}
	case x.depth != x.entryDepth+1:
	case x.open == fieldLoc:
		x.now.loc, x.open = text, fieldNone
	case x.open == fieldModified:
		x.now.modified, x.open = parseTime(text), fieldNone
	}
	return nil
}

var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02", "2006-01", "2006",
	time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
}

// parseTime parses the time formats of sitemaps, feeds and JSON. It returns zero for
// any other text.
func parseTime(s string) time.Time {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
