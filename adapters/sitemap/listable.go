package sitemap

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"

	"github.com/resourcesync-go/resourcesync/linkheader"
)

// maxHead is the maximum number of bytes of a page that are searched for its head.
const maxHead = 4 << 20

// unlistable returns the reason why a public page must not be listed, or "". page is its beginning, or
// nil if that must not be examined.
func unlistable(u *url.URL, h http.Header, page []byte) string {
	for _, value := range h["X-Robots-Tag"] {
		if hasNoindex(value) {
			return "noindex"
		}
	}
	for link := range linkheader.Find(linkheader.Parse(h["Link"]...), "canonical") {
		if isForeign(u, link.Target) {
			return "canonical elsewhere"
		}
	}
	if !isHTML(h, page) {
		return ""
	}
	return unlistableHead(u, decoded(h, page), len(page) >= maxHead)
}

// decoded returns the text of a page in UTF-8, from the encoding that browsers detect: by a byte
// order mark, the header, or an element in the page (HTML, section 13.2.3.2).
func decoded(h http.Header, page []byte) io.Reader {
	encoding, _, sure := charset.DetermineEncoding(page, h.Get("Content-Type"))
	switch {
	case sure:
	case bytes.HasPrefix(page, []byte("<\x00?\x00x\x00")):
		encoding = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case bytes.HasPrefix(page, []byte("\x00<\x00?\x00x")):
		encoding = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return encoding.NewDecoder().Reader(bytes.NewReader(page))
}

// isHTML reports whether browsers treat a page as HTML.
func isHTML(h http.Header, page []byte) bool {
	value := h.Get("Content-Type")
	if value == "" {
		value = http.DetectContentType(page)
	}
	kind, _, err := mime.ParseMediaType(value)
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

// decodeHead decodes the beginning of a page. A site may apply a content coding although
// the request excludes it. An HTML page in any coding but gzip cannot be listed, because
// its head cannot be read.
func decodeHead(coding string, h http.Header, page []byte) ([]byte, error) {
	switch strings.ToLower(coding) {
	case "", "identity":
		return page, nil
	case "gzip", "x-gzip":
		zr, err := gzip.NewReader(bytes.NewReader(page))
		if err != nil {
			return nil, err
		}
		var head bytes.Buffer
		// A long page is truncated.
		if _, err := io.Copy(&head, io.LimitReader(zr, maxHead)); err != nil && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		return head.Bytes(), nil
	}
	if h.Get("Content-Type") == "" || isHTML(h, nil) {
		return nil, fmt.Errorf("has the content coding %.20q, although the request excludes it", coding)
	}
	return page, nil
}

// unlistableHead checks <meta name="robots"> and <link rel="canonical">. A page that is truncated
// before its head ends is refused.
func unlistableHead(u *url.URL, page io.Reader, truncated bool) string {
	z := html.NewTokenizer(page)
	base := u
	for inHead := true; ; {
		token := z.Next()
		if token == html.ErrorToken {
			if truncated && inHead {
				return fmt.Sprintf("head longer than %d MiB", maxHead>>20)
			}
			return ""
		}
		if token != html.StartTagToken && token != html.SelfClosingTagToken {
			continue
		}
		name, more := z.TagName()
		tag := atom.Lookup(name)
		if tag == atom.Body {
			return ""
		}
		inHead = inHead && isOfHead(tag)
		if tag != atom.Meta && tag != atom.Link && tag != atom.Base {
			continue
		}
		attrs := map[string]string{}
		for more {
			var key, value []byte
			key, value, more = z.TagAttr()
			attrs[string(key)] = string(value)
		}
		switch {
		case tag == atom.Base && attrs["href"] != "":
			if b, err := u.Parse(strings.TrimSpace(attrs["href"])); err == nil {
				base = b
			}
		case tag == atom.Meta && strings.EqualFold(attrs["name"], "robots") && hasNoindex(attrs["content"]):
			return "noindex"
		case tag == atom.Link && slices.Contains(strings.Fields(strings.ToLower(attrs["rel"])), "canonical"):
			if target, err := base.Parse(strings.TrimSpace(attrs["href"])); err == nil && isForeign(u, target.String()) {
				return "canonical elsewhere"
			}
		}
	}
}

// isOfHead reports whether an element can be in a head, or around it. Any other begins the body.
func isOfHead(tag atom.Atom) bool {
	switch tag {
	case atom.Html, atom.Head, atom.Title, atom.Base, atom.Basefont, atom.Bgsound, atom.Link, atom.Meta, atom.Style, atom.Script, atom.Noscript, atom.Noframes, atom.Template:
		return true
	}
	return false
}

// hasNoindex reports whether rules for all robots exclude a page. Rules for a single
// robot, such as "googlebot: noindex", do not count.
func hasNoindex(value string) bool {
	for rule := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.TrimSpace(rule)) {
		case "noindex", "none":
			return true
		}
	}
	return false
}

// uncacheable is the reason of a page that is withheld because of its Cache-Control.
const uncacheable = "Cache-Control"

// isUncacheable reports whether a Cache-Control says private or no-store (RFC 9111, section 5.2.2).
// private with an argument concerns some fields of the header only.
func isUncacheable(values []string) bool {
	for _, value := range values {
		for directive := range strings.SplitSeq(value, ",") {
			switch strings.ToLower(strings.TrimSpace(directive)) {
			case "private", "no-store":
				return true
			}
		}
	}
	return false
}

// isForeign reports whether the hosts of target and u differ. A canonical URL on the
// same host is ignored, because many sites state it wrongly.
func isForeign(u *url.URL, target string) bool {
	t, err := u.Parse(target)
	return err == nil && t.Host != "" && !strings.EqualFold(strings.TrimPrefix(t.Hostname(), "www."), strings.TrimPrefix(u.Hostname(), "www."))
}
