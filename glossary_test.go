package resourcesync_test

import (
	"os"
	"regexp"
	"testing"
)

// namedPath matches a path of the repository in a column of the glossary.
var namedPath = regexp.MustCompile("`((?:[a-z]+/)+[a-z]+(?:\\.go)?|[a-z]+\\.go)`")

// TestGlossary checks that the files and folders that docs/glossary.md names exist.
func TestGlossary(t *testing.T) {
	text, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	named := namedPath.FindAllStringSubmatch(string(text), -1)
	if len(named) < 50 {
		t.Fatalf("found %d paths, expected at least 50", len(named))
	}
	for _, path := range named {
		if _, err := os.Stat(path[1]); err != nil {
			t.Error(err)
		}
	}
}
