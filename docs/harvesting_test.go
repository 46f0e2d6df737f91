package docs

import (
	"os"
	"strings"
	"testing"
)

// TestReferenceClient: version 2.0.1 of the reference client fails with --incremental --hash.
func TestReferenceClient(t *testing.T) {
	text, err := os.ReadFile("harvesting.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		if !strings.HasPrefix(line, "resync-sync --incremental") {
			continue
		}
		if commands++; strings.Contains(line, "--hash") {
			t.Error(line)
		}
	}
	if commands == 0 {
		t.Error("there is no such command")
	}
}
