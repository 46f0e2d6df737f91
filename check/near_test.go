package check_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// expected returns the IDs that are not empty.
func expected(ids ...string) []string {
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	slices.Sort(ids)
	return ids
}

// described makes the Source Description an index of n others.
func described(n int) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		part := strings.Replace(s.files[wellKnown].body, `<rs:md capability="description"/>`, `<rs:ln rel="index" href="{base}/.well-known/resourcesync"/><rs:md capability="description"/>`, 1)
		parts := ""
		for i := range n {
			path := fmt.Sprintf("/description-%d.xml", i+1)
			s.add(path, part)
			parts += "<sitemap><loc>{base}" + path + "</loc></sitemap>"
		}
		s.add(wellKnown, index+`<rs:md capability="description"/>`+parts+"</sitemapindex>")
		s.edit(t, caps, "{base}/.well-known/resourcesync", "{base}/description-1.xml")
	}
}

// TestEndless has a Source Description of Source Descriptions, and so on.
func TestEndless(t *testing.T) {
	for links, most := range map[int]int{1: 20, 50: 20} {
		s := newSite(t)
		requests := 0
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Content-Type", "application/xml")
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, urlset+`<rs:md capability="description"/>`)
			for i := range links {
				fmt.Fprintf(w, `<url><loc>%s%s/%d</loc><rs:md capability="capabilitylist"/></url>`, s.URL, r.URL.Path, i)
			}
			fmt.Fprint(w, "</urlset>")
		})
		o := options()
		o.Concurrency, o.Pause = 1, -1
		if r, counts := s.judge(t, o); counts["discovery-endless"] != 1 || requests > most {
			t.Errorf("%d links: %d requests\n%s", links, requests, describe(r))
		}
	}
}
