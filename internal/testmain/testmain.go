// Package testmain runs the tests of packages that wait more than they compute: for disks, for
// clocks, and for processes.
//
// Their temporary folders are in memory where the system has a file system for that. A commit of
// SQLite waits for the disk, 10 ms each time on a common one, and hundreds of stores are made in
// tests. Tests kill processes and not the system, so what they check does not depend on the disk.
//
// Tests make much garbage and keep little, so garbage is collected less often than usual, unless
// benchmarks run: they measure programs as users run them.
package testmain

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

// Run runs the tests of m and returns their exit status. Of the tests that call
// [testing.T.Parallel], four for each core run at a time, unless -parallel says otherwise.
func Run(m *testing.M) (status int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	if os.Getenv("GOGC") == "" && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("TMPDIR") == "" {
		if folder := inMemory(); folder != "" {
			defer os.RemoveAll(folder)
			os.Setenv("TMPDIR", folder)
		}
	}
	return m.Run()
}
