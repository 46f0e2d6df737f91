package testmain_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

func TestMain(m *testing.M) { os.Exit(testmain.Run(m)) }

// inner makes a process of this test print its environment.
const inner = "TESTMAIN_TEST_INNER"

// TestGiven: settings from the environment or the command line are not changed, and nothing is
// left behind.
func TestGiven(t *testing.T) {
	if os.Getenv(inner) != "" {
		t.Logf("parallel=%s tmp=%s", flag.Lookup("test.parallel").Value, os.TempDir())
		return
	}
	folder := t.TempDir()
	for want, given := range map[string]struct{ flag, folder string }{
		"parallel=3 ":              {"-test.parallel=3", ""},
		"tmp=" + folder + "\n":     {"-test.count=1", folder},
		"tmp=" + os.DevNull + "\n": {"-test.count=1", os.DevNull},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGiven$", "-test.v", given.flag)
		cmd.Env = append(os.Environ(), inner+"=1", "TMPDIR="+given.folder)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%+v: %v, %s", given, err, out)
		}
		_, tmp, _ := strings.Cut(string(out), "tmp=")
		tmp, _, _ = strings.Cut(tmp, "\n")
		if _, err := os.Stat(tmp); given.folder == "" && strings.Contains(tmp, "resourcesync-test-") && !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", tmp, err)
		}
	}
}
