package linkheader_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

func ExampleMiddleware() {
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "a paper")
	})
	announce := linkheader.Middleware(linkheader.Cover{
		CapabilityList: "https://example.org/resourcesync/papers/capabilitylist.xml",
		Covers:         func(u *url.URL) bool { return strings.HasPrefix(u.Path, "/papers/") },
	})

	server := httptest.NewServer(announce(app))
	defer server.Close()
	for _, path := range []string{"/papers/7", "/about"} {
		resp, err := http.Get(server.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(path, resp.Header.Values("Link"))
	}
	// Output:
	// /papers/7 [<https://example.org/resourcesync/papers/capabilitylist.xml>; rel="resourcesync"]
	// /about []
}

func ExampleParse() {
	header := http.Header{"Link": {
		`</style.css>; rel=preload, </sets/1/capabilitylist.xml>; rel="resourcesync"`,
		`</sets/2/capabilitylist.xml>; rel="resourcesync"; title*=UTF-8''Aufs%C3%A4tze`,
	}}
	base, err := url.Parse("https://example.org/papers/7")
	if err != nil {
		fmt.Println(err)
		return
	}
	links := linkheader.Parse(header.Values("Link")...)
	for l := range linkheader.Find(links, resourcesync.RelResourceSync) {
		target, err := base.Parse(l.Target)
		if err != nil {
			continue
		}
		fmt.Println(target)
	}
	// Output:
	// https://example.org/sets/1/capabilitylist.xml
	// https://example.org/sets/2/capabilitylist.xml
}

func ExampleAppendLink() {
	b := linkheader.AppendLink(nil, linkheader.Link{
		Target: "https://example.org/a>b",
		Rel:    resourcesync.RelDescribedBy,
	})
	fmt.Println(string(b))
	// Output:
	// <https://example.org/a%3Eb>; rel="describedby"
}
