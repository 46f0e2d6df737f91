package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// ciJob runs the script of a job as a CI system does, with this program, and returns the content of
// file, and the exit status.
func ciJob(t *testing.T, script, site, file string) (text string, status int) {
	t.Helper()
	needs.Program(t, "bash")
	program, err := os.Executable()
	must(t, err)
	bin, folder := t.TempDir(), t.TempDir()
	must(t, os.Symlink(program, filepath.Join(bin, "resourcesync")))
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", script)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), beMain+"=1", "SITE="+site, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%v\n%s", err, out)
	} else if ok {
		status = exit.ExitCode()
	}
	return read(t, filepath.Join(folder, file)), status
}

// TestCheckSnippets runs the scripts of docs/check.md for GitLab and GitHub. A job fails if the
// Source has errors, and still writes its report.
func TestCheckSnippets(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	var lab map[string]struct {
		Script    []string
		Artifacts struct {
			When    string
			Reports struct{ JUnit string }
		}
	}
	must(t, yaml.Unmarshal([]byte(snippet(t, "check.md", "## In continuous integration", "yaml")), &lab))
	job := lab["check-source"]
	_, rest, _ := strings.Cut(read(t, "../../docs/check.md"), "\nFor GitHub:\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	rest, _, _ = strings.Cut(rest, "```")
	var hub []struct {
		Run, Uses, If string
		With          struct{ Path string }
	}
	must(t, yaml.Unmarshal([]byte(rest), &hub))
	if len(job.Script) != 1 || job.Artifacts.When != "always" || len(hub) != 2 || hub[1].If != "always()" || !strings.HasPrefix(hub[1].Uses, "actions/upload-artifact@") {
		t.Fatalf("%+v\n%+v", lab, hub)
	}
	good := filepath.Join(t.TempDir(), "list.xml")
	write(t, good, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://example.org/</loc></url></urlset>`)
	for site, want := range map[string]int{broken(t): 1, good: 0} {
		text, status := ciJob(t, job.Script[0], site, job.Artifacts.Reports.JUnit)
		var suite struct {
			Failures int `xml:"failures,attr"`
		}
		if err := xml.Unmarshal([]byte(text), &suite); err != nil || status != want || (suite.Failures > 0) != (want > 0) {
			t.Errorf("GitLab, %s: status %d, %d failures, %v", site, status, suite.Failures, err)
		}
		text, status = ciJob(t, hub[0].Run, site, hub[1].With.Path)
		if status != want || !strings.HasPrefix(text, "<!doctype html>") || !strings.Contains(text, "</html>") {
			t.Errorf("GitHub, %s: status %d\n%s", site, status, text)
		}
	}
}

// TestCheckSARIF: the SARIF report has the properties that its schema requires, with valid values.
func TestCheckSARIF(t *testing.T) {
	type text struct{ Text string }
	file := filepath.Join(t.TempDir(), "a list.xml")
	write(t, file, "<urlset><url/>\x01")
	for _, target := range []string{broken(t), file} {
		_, stdout, _ := runCheck(t, target, "--format", "sarif")
		var log struct {
			Schema  string `json:"$schema"`
			Version string
			Runs    []struct {
				Tool struct {
					Driver struct {
						Name  string
						Rules []struct {
							ID                     string
							ShortDescription, Help text
							HelpURI                string
							DefaultConfiguration   struct{ Level string }
						}
					}
				}
				Invocations []struct{ ExecutionSuccessful *bool }
				Results     []struct {
					RuleID    string
					RuleIndex int
					Level     string
					Message   text
					Locations []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           *struct{ StartLine, StartColumn int }
						}
					}
				}
			}
		}
		must(t, json.Unmarshal([]byte(stdout), &log))
		levels := []string{"none", "note", "warning", "error"}
		if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name == "" || len(log.Runs[0].Results) == 0 {
			t.Fatalf("%+v", log)
		}
		run := log.Runs[0]
		if len(run.Tool.Driver.Rules) != len(check.Rules()) || len(run.Invocations) != 1 || run.Invocations[0].ExecutionSuccessful == nil {
			t.Errorf("%d rules, %+v", len(run.Tool.Driver.Rules), run.Invocations)
		}
		for _, r := range run.Tool.Driver.Rules {
			if u, err := url.Parse(r.HelpURI); err != nil || !u.IsAbs() || r.ID == "" || r.ShortDescription.Text == "" || r.Help.Text == "" || !slices.Contains(levels, r.DefaultConfiguration.Level) {
				t.Errorf("%+v", r)
			}
		}
		for _, r := range run.Results {
			if r.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || !slices.Contains(levels, r.Level) || r.Message.Text == "" || len(r.Locations) != 1 {
				t.Errorf("%+v", r)
				continue
			}
			at := r.Locations[0].PhysicalLocation
			if u, err := url.Parse(at.ArtifactLocation.URI); err != nil || strings.Contains(u.String(), " ") || at.Region != nil && (at.Region.StartLine < 1 || at.Region.StartColumn < 0) {
				t.Errorf("%s: %+v", at.ArtifactLocation.URI, at.Region)
			}
		}
	}
}
