package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// outputOf runs a command that succeeds, and returns what it prints.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), args, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Fatalf("%q: status %d, %s", args, status, &stderr)
	}
	return stdout.String()
}

// Shells offer every command and flag with a description, and the values of flags that
// exist.
func TestOfferedCommands(t *testing.T) {
	offered, err := offeredCommands()
	must(t, err)
	for i, c := range commands() {
		if offered[i].Name != c.name || offered[i].Summary == "" {
			t.Errorf("%s is offered as %q: %q", c.name, offered[i].Name, offered[i].Summary)
		}
		for _, f := range offered[i].Flags {
			if c.name != "confirm-deletions" && (f.Summary == "" || strings.Contains(f.Summary, "  ")) {
				t.Errorf("%s --%s: %q", c.name, f.Name, f.Summary)
			}
		}
	}
	summaries, err := commandSummaries()
	must(t, err)
	if len(summaries) != len(commands()) {
		t.Errorf("the help lists %d commands, there are %d", len(summaries), len(commands()))
	}
	serve := offered[0].Flags
	for name, want := range map[string]completion.Flag{
		"sitemap": {Name: "sitemap", Summary: "Publish a plain sitemap for search engines too", Bool: true},
		"hub":     {Name: "hub", Summary: "The WebSub hub that notifies subscribers of changes", Repeated: true, Values: completion.Values{Words: []string{"own", "none"}}},
	} {
		i := slices.IndexFunc(serve, func(f completion.Flag) bool { return f.Name == name })
		if got := serve[i]; got.Summary != want.Summary || got.Bool != want.Bool || got.Repeated != want.Repeated || !slices.Equal(got.Values.Words, want.Values.Words) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// Each offered word is a valid value of the flag.
func TestOfferedValues(t *testing.T) {
	for _, c := range commands() {
		if c.catalog == nil {
			continue
		}
		for s := range c.catalog().Flags() {
			for _, word := range s.Offered().Words {
				if err := s.Value.Set(word); err != nil {
					t.Errorf("%s --%s %s: %v", c.name, s.Name, word, err)
				}
				if _, err := parseServe([]string{".", "--hash", word}); s.Name == "hash" && err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// The shells accept the scripts; package completion tests the completions.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range completion.Shells() {
		script := outputOf(t, "completion", shell)
		if _, err := exec.LookPath(shell); err != nil && os.Getenv("CI") == "" {
			t.Logf("not checked: %v", err)
			continue
		}
		cmd := exec.CommandContext(t.Context(), shell, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}

// The manual page has every command and flag, and programs for such pages accept it.
func TestManual(t *testing.T) {
	page := outputOf(t, "man")
	for _, c := range commands() {
		name := strings.ReplaceAll(c.name, "-", `\-`)
		if !strings.Contains(page, "\n.SS "+name+"\n") {
			t.Errorf("no section about %s", c.name)
		}
	}
	for s := range catalogOf("serve").Flags() {
		if name := strings.ReplaceAll("--"+s.Name, "-", `\-`); !strings.Contains(page, "\n.TP\n.B "+name+"\n") {
			t.Errorf("nothing about --%s", s.Name)
		}
	}
	cmd := exec.CommandContext(t.Context(), needs.Program(t, "mandoc"), "-T", "lint", "-W", "warning")
	cmd.Stdin = strings.NewReader(page)
	out, _ := cmd.CombinedOutput()
	// The date is that of the revision, which a test binary does not have.
	if text := strings.TrimSpace(string(out)); text != "" && (strings.Contains(text, "\n") || !strings.Contains(text, "missing date")) {
		t.Error(text)
	}
}
