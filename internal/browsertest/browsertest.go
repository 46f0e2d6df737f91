// Package browsertest looks at HTML pages in Chromium, for tests: it checks their
// accessibility with axe-core, their size, and takes screenshots.
package browsertest

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

//go:embed browser.js
var browser string

// A Page is a page to look at. Its screenshots have its name.
type Page struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Check opens pages in light, in dark and on a phone, and fails t if axe-core reports
// anything, if a page has an error in its console, needs a request to another host, is wider
// than a phone, or has 100 KB or more. Screenshots are kept in the folder
// RESOURCESYNC_SCREENSHOTS, if it is set.
func Check(t *testing.T, pages ...Page) {
	t.Helper()
	list, err := json.Marshal(pages)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, "await check("+string(list)+");")
}

// Run runs a script of Node.js for Playwright, in which open(url, look)
// opens a page in one of the looks, and expect(condition, text) reports a failure. It skips t
// if RESOURCESYNC_TEST_BROWSER, the folder with node_modules, is "none", or if it is not
// set, except in CI.
func Run(t *testing.T, script string) {
	t.Helper()
	folder := os.Getenv("RESOURCESYNC_TEST_BROWSER")
	if folder == "none" {
		t.Skip("RESOURCESYNC_TEST_BROWSER is none: another step of CI looks at the pages")
	}
	if folder == "" {
		needs.Skip(t, "RESOURCESYNC_TEST_BROWSER is not set: run .ci/browser")
	}
	shots := os.Getenv("RESOURCESYNC_SCREENSHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	file := filepath.Join(t.TempDir(), "test.js")
	if err := os.WriteFile(file, []byte(strings.Replace(browser, "/* script */", script, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", file)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(folder, "node_modules"), "SCREENSHOTS="+shots)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if len(out) > 0 {
		t.Logf("%s", out)
	}
}
