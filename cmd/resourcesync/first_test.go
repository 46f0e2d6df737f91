package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestD14_ReadyInJSON reads the JSON output of a process.
func TestD14_ReadyInJSON(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	p := startProcess(t, folder, "--log-format", "json")
	line := p.stderr.await(`\{[^\n]*"msg":"ready"[^\n]*\}`)[0]
	var ready struct {
		Files             int
		SourceDescription string `json:"source_description"`
		ResourceList      string `json:"resource_list"`
	}
	must(t, json.Unmarshal([]byte(line), &ready))
	if ready.Files != 1 || p.stdout.String() != "" {
		t.Errorf("%s and on the standard output %q", line, p.stdout)
	}
	p.document(ready.SourceDescription, "description")
	p.document(ready.ResourceList, "resourcelist")
}

// TestD14_NoHashes publishes files without reading them; packages are still complete.
func TestD14_NoHashes(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	p := startProcess(t, folder, "--hash", "none")
	p.stdout.await("Ready")
	for _, e := range p.list("resourcelist") {
		if e.Metadata.Hash != "" || e.Metadata.Length != "1" {
			t.Errorf("listed %+v", e)
		}
	}
	for _, e := range p.list("resourcedump") {
		if res, body := p.get(e.Loc); res.StatusCode != 200 || !strings.Contains(body, "a.txt") {
			t.Errorf("package: %s, %d bytes", res.Status, len(body))
		}
	}
}

// TestD14_Mistyped runs commands and flags that do not exist.
func TestD14_Mistyped(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	for given, want := range map[string]string{
		"sevre .":              `did you mean serve?`,
		"Serve .":              `did you mean serve?`,
		"harvest":              `unknown command "harvest"; "resourcesync help"`,
		"serve . --basee-url=": `unknown flag --basee-url; did you mean --base-url?`,
		"serve . -retian 1d":   `unknown flag --retian; did you mean --retain?`,
		"serve . --port 80":    `unknown flag --port; did you mean --listen?`,
		"triggers --tabel t":   `unknown flag --tabel; did you mean --table?`,
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(given)...)
		cmd.Env = append(os.Environ(), beMain+"=1")
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), want) || bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("%s: status %d, %s", given, cmd.ProcessState.ExitCode(), out)
		}
	}
}

func TestD14_Version(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	var said []string
	for _, arg := range []string{"version", "--version", "-version"} {
		cmd := exec.CommandContext(t.Context(), program, arg)
		cmd.Env = append(os.Environ(), beMain+"=1")
		out, err := cmd.Output()
		must(t, err)
		said = append(said, string(out))
	}
	if !strings.HasPrefix(said[0], "resourcesync ") || said[1] != said[0] || said[2] != said[0] {
		t.Errorf("%q", said)
	}
}
