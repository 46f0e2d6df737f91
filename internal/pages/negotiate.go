package pages

import (
	"net/http"
	"strconv"
	"strings"
)

// Vary names the header fields on which [Navigates] depends, for responses at the URL of an
// XML document. User-Agent is left out on purpose. HTML is private, so a shared cache has
// XML only: at worst it sends a person the XML. With User-Agent, caches would keep a copy for
// every version of every client.
const Vary = "Accept, Sec-Fetch-Dest"

// Navigates reports whether a request for an XML document comes from a person who opens it
// in a browser. Harvesters and crawlers get XML regardless of their Accept header.
//
// Current browsers send Sec-Fetch-Dest, but to https and local addresses only. Its Accept
// names text/html, and XML with a lower quality. Java's default, "text/html, image/gif,
// image/jpeg, *; q=.2, */*; q=.2", does not name XML. Programs copy the Accept of browsers,
// so User-Agent must name a browser as well. A query, such as ?xml, requests the XML.
func Navigates(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.RawQuery != "" || !isBrowser(r.Header["User-Agent"]) {
		return false
	}
	if dest := r.Header["Sec-Fetch-Dest"]; len(dest) > 0 {
		return len(dest) == 1 && dest[0] == "document"
	}
	return prefersHTML(r.Header["Accept"])
}

// isBrowser reports whether a User-Agent names a browser: it begins as in every browser,
// and has none of the words, addresses and remarks of crawlers.
func isBrowser(agent []string) bool {
	if len(agent) != 1 || !strings.HasPrefix(agent[0], "Mozilla/5.0 (") {
		return false
	}
	a := strings.ToLower(agent[0])
	for _, sign := range []string{
		"bot", "crawl", "spider", "slurp", "scrap", "archive", "harvest", "resync", "heritrix", "nutch", "monitor", "preview",
		"fetch", "google-", "mediapartners", "inspection", "powershell", "python", "java/", "curl", "wget", "libwww", "feed", "thunderbird",
		"compatible;", "http:", "https:", "@",
	} {
		if strings.Contains(a, sign) {
			return false
		}
	}
	return true
}

// prefersHTML reports whether an Accept names text/html with the quality 1, and XML with
// a lower one.
func prefersHTML(accept []string) bool {
	html, xml := -1.0, -1.0
	for _, v := range accept {
		for item := range strings.SplitSeq(v, ",") {
			name, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "text/html":
				html = quality(params)
			case "application/xml", "text/xml":
				xml = max(xml, quality(params))
			}
		}
	}
	return html == 1 && xml >= 0 && xml < 1
}

// quality returns the parameter q among params: 1 if there is none, and 0 if it is invalid.
func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}
