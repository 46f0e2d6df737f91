package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading   = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	unslugged = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	inline    = regexp.MustCompile("`[^`\n]*`")
)

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := regexp.MustCompile(`\[(.*?)\]\(.*?\)`).ReplaceAllString(found[1], "$1")
		all = append(all, strings.ReplaceAll(unslugged.ReplaceAllString(strings.ToLower(title), ""), " ", "-"))
	}
	return all
}

// Links to files of the repository and to their headings lead somewhere.
func TestLinks(t *testing.T) {
	n := 0
	for _, name := range append(documents(t), "CONTRIBUTING.md", "CHANGELOG.md") {
		text := inline.ReplaceAllString(fence.ReplaceAllString(read(t, name), ""), "")
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target := found[1] + found[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			n++
			path, anchor, _ := strings.Cut(target, "#")
			file := name
			if path != "" {
				file = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, target)
			} else if anchor != "" && strings.HasSuffix(file, ".md") && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s: %s has no heading #%s", name, file, anchor)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d links found", n)
	}
}
