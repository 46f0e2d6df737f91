// Package docs tests the README and the documents in this folder: their commands run,
// their code compiles, and their links lead somewhere.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the path of the repository.
const root = ".."

// A block is a fenced block of a document.
type block struct {
	file     string // relative to root
	line     int    // of its first line
	language string
	marker   string // the text of the HTML comment on the line before the fence
	text     string
}

// documents returns the paths of the README and of the documents in this folder and below, relative to root.
func documents(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md"}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			names = append(names, "docs/"+filepath.ToSlash(path))
		}
		return err
	})
	if err != nil || len(names) < 30 {
		t.Fatalf("%d documents, %v", len(names), err)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var fence = regexp.MustCompile("(?m)^(?:<!-- (.*) -->\n)?```(.*)\n((?s:.*?))^```$")

// blocks returns the fenced blocks of some documents.
func blocks(t *testing.T, files ...string) []block {
	t.Helper()
	var all []block
	for _, file := range files {
		text := read(t, file)
		for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
			b := block{
				file: file, line: 1 + strings.Count(text[:at[6]], "\n"),
				language: text[at[4]:at[5]], text: text[at[6]:at[7]],
			}
			if at[2] >= 0 {
				b.marker = text[at[2]:at[3]]
			}
			all = append(all, b)
		}
		if fences := strings.Count("\n"+text, "\n```"); fences != 2*countOf(all, file) {
			t.Errorf("%s: %d lines are fences, but there are %d blocks", file, fences, countOf(all, file))
		}
	}
	return all
}

func countOf(all []block, file string) (n int) {
	for _, b := range all {
		if b.file == file {
			n++
		}
	}
	return n
}

// languages of blocks, and what tests them.
var languages = []string{
	"sh",          // TestQuickstart, TestShell, and TestPrintedCommands of cmd/resourcesync
	"go",          // TestGo
	"nginx",       // cmd/resourcesync runs the snippets of the sidecar
	"ini",         // TestPrintedCommands reads ExecStart
	"php",         // cmd/resourcesync runs the snippets in WordPress
	"text", "xml", // output of the command before, or a drawing
	"apache", "caddy", "yaml", // shown only
}

// Each block has a language, so that no command escapes the tests.
func TestBlocksHaveLanguages(t *testing.T) {
	for _, b := range blocks(t, documents(t)...) {
		if !slices.Contains(languages, b.language) {
			t.Errorf("%s:%d: a block has the language %q, want one of %q", b.file, b.line, b.language, languages)
		}
	}
	indented := regexp.MustCompile(`(?m)^\n    [^ ].*$`)
	for _, name := range documents(t) {
		text := fence.ReplaceAllString(read(t, name), "")
		for _, found := range indented.FindAllString(text, -1) {
			t.Errorf("%s: a block without a fence: %s", name, strings.TrimSpace(found))
		}
	}
}
