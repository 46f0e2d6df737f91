package docs

import (
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

// TestBucket types what docs/bucket.md says, in a fresh clone, and compares the output with
// what it shows. Only the addresses are others, and those of this computer are allowed.
func TestBucket(t *testing.T) {
	needs.Program(t, "git")
	needs.Program(t, "bash")
	bucket := s3test.New(t)
	bucket.Publish(t, "*")
	bucket.Put(t, "maps.txt", "On maps.\n")
	bucket.Put(t, "letters/a b.txt", "On letters.\n")
	for _, variable := range bucket.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	const said = "127.0.0.1:8080"
	folder, address := clone(t), needs.Address(t)
	here := strings.NewReplacer(said, address, "s3://papers?region=eu-central-1", bucket.URL,
		"https://papers.s3.eu-central-1.amazonaws.com/{key}", bucket.Public)
	all := blocks(t, "docs/bucket.md")
	commands := 0
	for i, b := range all {
		if b.language != "sh" || !strings.Contains(b.text, "./") {
			continue
		}
		commands++
		command := here.Replace(strings.TrimSpace(b.text))
		shown := ""
		if all[i+1].language == "text" {
			shown = here.Replace(all[i+1].text)
		}
		want := matcher(shown)
		switch {
		case b.marker == "keeps running":
			start(t, folder, command+" --listen "+address, want.MatchString)
			continue
		case strings.Contains(command, " mirror "):
			command += " --allow-addresses 127.0.0.0/8"
		}
		begun := time.Now()
		output, err := shell(t, folder, command).Output()
		if err != nil || !want.Match(output) {
			t.Fatalf("%s:%d: %s after %v: %v\n%s\nthe document shows\n%s", b.file, b.line, command, time.Since(begun), err, output, shown)
		}
	}
	if commands != 4 {
		t.Errorf("%d commands, want four", commands)
	}
}
