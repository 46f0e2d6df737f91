package docs

import (
	"encoding/xml"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	image = regexp.MustCompile(`!\[([^\]]*)\]\(([^)]+)\)`)
	img   = regexp.MustCompile(`<img [^>]*>`)
	alt   = regexp.MustCompile(` alt="[^" ]+ [^" ]+ [^" ]+ [^" ]+ [^"]+"`)
)

// Each picture is described in the text, and a drawing describes itself to screen readers.
func TestPictures(t *testing.T) {
	n := 0
	for _, name := range documents(t) {
		for _, found := range image.FindAllStringSubmatch(fence.ReplaceAllString(read(t, name), ""), -1) {
			n++
			if len(strings.Fields(found[1])) < 5 {
				t.Errorf("%s: %s has the alternative text %q", name, found[2], found[1])
			}
			if filepath.Ext(found[2]) != ".svg" {
				continue
			}
			var drawing struct {
				Title string `xml:"title"`
				Desc  string `xml:"desc"`
			}
			if err := xml.Unmarshal([]byte(read(t, filepath.Join(filepath.Dir(name), found[2]))), &drawing); err != nil || drawing.Title == "" || drawing.Desc == "" {
				t.Errorf("%s: title %q, description %q, %v", found[2], drawing.Title, drawing.Desc, err)
			}
		}
	}
	for _, name := range documents(t) {
		for _, found := range img.FindAllString(fence.ReplaceAllString(read(t, name), ""), -1) {
			if n++; !alt.MatchString(found) {
				t.Errorf("%s: no alternative text: %s", name, found)
			}
		}
	}
	if n < 5 {
		t.Errorf("%d pictures found", n)
	}
}
