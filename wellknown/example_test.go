package wellknown_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A site whose Capability List is on another server publishes its URI.
func Example() {
	document, _, err := wellknown.Description([]wellknown.Set{{
		CapabilityList: "https://example.org/dataset1/capabilitylist.xml",
		DescribedBy:    "https://example.org/about-dataset1",
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle(wellknown.Path, wellknown.Handler(document))

	server := httptest.NewServer(mux)
	defer server.Close()
	resp, err := http.Get(server.URL + wellknown.Path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	body, _ := io.ReadAll(resp.Body)
	fmt.Print(string(body))
	// Output:
	// 200 OK application/xml
	// <?xml version="1.0" encoding="UTF-8"?>
	// <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
	// <rs:md capability="description"/>
	// <url>
	// <loc>https://example.org/dataset1/capabilitylist.xml</loc>
	// <rs:md capability="capabilitylist"/>
	// <rs:ln rel="describedby" href="https://example.org/about-dataset1"/>
	// </url>
	// </urlset>
}

func ExampleRobots() {
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "robots.txt", time.Time{}, strings.NewReader("User-agent: *\nDisallow: /cgi-bin/\n"))
	})
	robots := wellknown.Robots([]string{"https://example.org/dataset1/resourcelist.xml"})

	server := httptest.NewServer(robots(app))
	defer server.Close()
	resp, err := http.Get(server.URL + "/robots.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Print(string(body))
	// Output:
	// User-agent: *
	// Disallow: /cgi-bin/
	// Sitemap: https://example.org/dataset1/resourcelist.xml
}

func ExampleAppendRobots() {
	existing := []byte("User-agent: *\nDisallow:\nsitemap: https://example.org/sitemap.xml\n")
	merged := wellknown.AppendRobots(nil, existing, []string{
		"https://example.org/sitemap.xml",
		"https://example.org/dataset1/resourcelist.xml",
	})
	fmt.Print(string(merged))
	// Output:
	// User-agent: *
	// Disallow:
	// sitemap: https://example.org/sitemap.xml
	// Sitemap: https://example.org/dataset1/resourcelist.xml
}
