// Package needs skips tests on computers that lack a server, a program or a right. In CI,
// where the environment variable CI is set, such tests fail instead.
package needs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

// Variable returns the value of an environment variable that configures a server, such as
// RESOURCESYNC_TEST_POSTGRES. CONTRIBUTING.md describes these variables.
func Variable(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		Skip(t, name, "is not set")
	}
	return value
}

// Program returns the path of an installed program.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, err)
	}
	return path
}

// Time skips a test that takes seconds if -short is given, also in CI.
func Time(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
}

// Patience is how long a test waits for something that a loaded machine does late. Only a
// defect makes a test wait that long.
const Patience = 2 * time.Minute

// Size returns the size of a test: all where RESOURCESYNC_THOROUGH is set, as in .ci/nightly, or
// the few of everyday runs.
func Size(few, all int) int {
	if os.Getenv("RESOURCESYNC_THOROUGH") != "" {
		return all
	}
	return few
}

// Skip skips t for the given reason, or fails it in CI. It does not return.
func Skip(t testing.TB, reason ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(reason...)
	}
	t.Skip(reason...)
}

// Examples runs the tests of m as [testmain.Run] does, and returns their exit status. Without the environment
// variable, it skips the examples, or fails in CI. The TestMain of a package whose
// examples use a server calls it.
func Examples(m *testing.M, variable string) (status int) {
	if os.Getenv(variable) == "" {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, variable, "is not set")
			return 1
		}
		flag.Parse()
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
	}
	return testmain.Run(m)
}
