package sidecar

import (
	"bytes"
	"mime"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxProlog is how far into a page its head may begin.
	maxProlog = 16 << 10

	// charsetWithin is how far into a page browsers look for its encoding
	// (HTML, section 4.2.5.4): nothing may be inserted that moves it beyond.
	charsetWithin = 1024
)

// insertionPoint returns the offset at which links can be inserted into an HTML page:
// after the start tag of its head or, if the header does not declare the encoding
// (declared is false), after the element that does. Only document types, comments, white
// space and the html element may precede the head. page is the beginning of the page, or
// the complete page if complete is true.
//
// If decided is false, more of the page is needed. If at is negative, there is no such
// offset: a page without a head may be a fragment of another page.
func insertionPoint(page []byte, declared, complete bool) (at int, decided bool) {
	if len(page) >= maxProlog {
		page, complete = page[:maxProlog], true // decide without the rest
	}
	mark := 0
	if bytes.HasPrefix(page, []byte("\uFEFF")) {
		mark = len("\uFEFF")
	}
	z := html.NewTokenizer(bytes.NewReader(page[mark:]))
	head, decided := findHead(z, mark, len(page), complete)
	if head < 0 || declared || mark > 0 {
		return head, decided
	}
	return findCharset(z, head, len(page), complete)
}

// findHead returns the offset after the start tag of the head. z begins at offset in a
// page of which seen bytes are known.
func findHead(z *html.Tokenizer, offset, seen int, complete bool) (at int, decided bool) {
	for {
		token := z.Next()
		if token == html.ErrorToken {
			return -1, complete
		}
		offset += len(z.Raw())
		if !complete && offset == seen && token != html.StartTagToken {
			return -1, false // the token may continue
		}
		name, _ := tagName(z, token)
		switch {
		case token == html.CommentToken, token == html.DoctypeToken, name == atom.Html:
		case token == html.TextToken && len(bytes.TrimSpace(z.Raw())) == 0:
		case name == atom.Head && token != html.EndTagToken:
			return offset, true
		default:
			return -1, true
		}
	}
}

// findCharset returns the offset after the element that declares the encoding of a page.
// If no element within charsetWithin does, it returns head, the position of z.
func findCharset(z *html.Tokenizer, head, seen int, complete bool) (at int, decided bool) {
	for offset := head; offset < charsetWithin; {
		token := z.Next()
		if token == html.ErrorToken {
			return head, complete || seen >= charsetWithin
		}
		offset += len(z.Raw())
		switch name, attrs := tagName(z, token); name {
		case atom.Meta:
			if attrs && declaresCharset(z) && offset <= charsetWithin {
				return offset, true
			}
		case atom.Head, atom.Body, atom.Noscript, atom.Template:
			return head, true
		}
	}
	return head, true
}

func tagName(z *html.Tokenizer, token html.TokenType) (name atom.Atom, attrs bool) {
	switch token {
	case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
		n, attrs := z.TagName()
		return atom.Lookup(n), attrs
	}
	return 0, false
}

// declaresCharset reports whether the meta element that z has read is
// <meta charset> or <meta http-equiv="content-type">.
func declaresCharset(z *html.Tokenizer) bool {
	for {
		key, value, more := z.TagAttr()
		switch {
		case string(key) == "charset":
			return true
		case string(key) == "http-equiv" && strings.EqualFold(string(value), "content-type"):
			return true
		case !more:
			return false
		}
	}
}

// digests are headers and trailers whose values depend on the bytes of the page.
var digests = []string{"Content-Digest", "Repr-Digest", "Digest", "Content-Md5", "Signature"}

// isPlainHTML reports whether a response is a page into which ASCII can be
// inserted, and whether its headers declare its encoding.
func isPlainHTML(status int, h http.Header) (ok, declared bool) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if status != http.StatusOK || err != nil || kind != "text/html" {
		return false, false
	}
	for _, name := range digests {
		if h.Get(name) != "" || announces(h, name) {
			return false, false // clients may verify the page with it
		}
	}
	for _, value := range h["Cache-Control"] {
		if hasToken(value, "no-transform") {
			return false, false
		}
	}
	charset := strings.ToLower(params["charset"])
	for _, prefix := range []string{"utf-16", "utf-32", "utf-7", "iso-2022", "hz-gb", "ucs-", "csunicode", "unicode"} {
		if strings.HasPrefix(charset, prefix) {
			return false, false // not a superset of ASCII
		}
	}
	return true, charset != ""
}

// announces reports whether a header announces the trailer name.
func announces(h http.Header, name string) bool {
	return slices.ContainsFunc(h["Trailer"], func(names string) bool { return hasToken(names, name) })
}

// contentCoding returns the content coding of a response with this header, in lower case.
func contentCoding(h http.Header) string { return strings.ToLower(h.Get("Content-Encoding")) }

// isGzip reports whether a content coding is gzip.
func isGzip(coding string) bool { return coding == "gzip" || coding == "x-gzip" }

// isInsertable reports whether links can be inserted into a page with this content coding.
func isInsertable(coding string) bool {
	return coding == "" || coding == "identity" || isGzip(coding)
}

// isHTML reports whether a response with this header is HTML.
func isHTML(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "text/html"
}

// mayBePartOfHTML reports whether a partial response with this header may belong to an
// HTML page. The header of a response with several ranges does not name the type.
func mayBePartOfHTML(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "multipart/byteranges")
}

// hasToken reports whether one of the comma-separated elements of value is token.
func hasToken(value, token string) bool {
	for field := range strings.SplitSeq(value, ",") {
		if strings.EqualFold(strings.TrimSpace(field), token) {
			return true
		}
	}
	return false
}
