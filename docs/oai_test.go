package docs

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
)

// TestOAI types what docs/oai.md says, in a fresh clone, with a repository of 250 records
// whose pages are on this computer.
func TestOAI(t *testing.T) {
	needs.Time(t)
	needs.Program(t, "git")
	needs.Program(t, "bash")
	repository := oaitest.New("", 0, time.Time{})
	server := httptest.NewServer(repository)
	t.Cleanup(server.Close)
	repository.Fill(server.URL, 250, time.Now())

	folder, address := clone(t), needs.Address(t)
	here := strings.NewReplacer("127.0.0.1:8080", address, "https://repo.example.org", server.URL)
	all := blocks(t, "docs/oai.md")
	commands := 0
	for i, b := range all {
		if b.language != "sh" {
			continue
		}
		commands++
		command := here.Replace(strings.TrimSpace(b.text))
		shown := ""
		if i+1 < len(all) && all[i+1].language == "text" {
			shown = here.Replace(all[i+1].text)
		}
		want := matcher(shown)
		if b.marker == "keeps running" {
			start(t, folder, command+" --rate 1000 --listen "+address, want.MatchString)
			continue
		}
		if strings.Contains(command, " mirror ") {
			command += " --allow-addresses 127.0.0.0/8" // of the pages
		}
		output, err := shell(t, folder, command).Output()
		if err != nil || !want.Match(output) {
			t.Fatalf("%s:%d: %s: %v\n%s\nthe document shows\n%s", b.file, b.line, command, err, output, shown)
		}
	}
	if commands == 0 || commands > 5 {
		t.Errorf("%d commands, want at most five", commands)
	}
}
