package destination_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/destination/internal/simulation"
	"github.com/resourcesync-go/resourcesync/internal/fault"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// simulated is a Destination with its folder.
type simulated struct {
	*destination.Destination
	folder *destination.Folder
}

// Close closes both.
func (s simulated) Close() error { return errors.Join(s.Destination.Close(), s.folder.Close()) }

// newState is the state of a new copy of the Source of all worlds. SQLite creates it once, because
// that takes as long as a run.
var newState = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "state")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	f, err := destination.OpenFolder(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := destination.New(simulation.Site, f, nil)
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(folder, ".resourcesync", "state.db"))
})

// openSimulated opens a Destination in a world.
func openSimulated(source, folder string, o *destination.Options, transport http.RoundTripper, hook fault.Hook) (simulation.Destination, error) {
	f, err := destination.OpenFolderWith(folder, hook)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, ".resourcesync", "state.db")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && source == simulation.Site {
		text, err := newState()
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	d, err := destination.OpenWith(source, f, o, transport, hook)
	if err != nil {
		f.Close()
		return nil, err
	}
	return simulated{d, f}, nil
}

// simulate runs a script, with its files in memory if possible.
func simulate(t *testing.T, s *simulation.Script) (v *simulation.Verdict) {
	t.Helper()
	disk, err := os.MkdirTemp("/dev/shm", "simulation")
	if err != nil {
		disk, err = os.MkdirTemp("", "simulation")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(disk)
	hangs := time.AfterFunc(5*time.Minute, func() { panic("this history does not end:\n" + s.Text()) })
	defer hangs.Stop()
	synctest.Test(t, func(t *testing.T) { v = simulation.Run(s, openSimulated, filepath.Join(disk, "w")) })
	return v
}

// runSimulations runs n scripts on all cores, and returns when all have ended.
func runSimulations(t *testing.T, n int, script func(i int) *simulation.Script, each func(i int, s *simulation.Script, v *simulation.Verdict)) {
	t.Helper()
	var next atomic.Int64
	t.Run("histories", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					s := script(i)
					each(i, s, simulate(t, s))
				}
			})
		}
	})
}

// TestSimulation runs random histories. See package simulation.
func TestSimulation(t *testing.T) {
	n := number(t, "RESOURCESYNC_SIMULATION", 40)
	if testing.Short() {
		n = min(n, 20)
	}
	first := number(t, "RESOURCESYNC_SIMULATION_SEED", 1)
	var mu sync.Mutex
	outcomes := make(map[simulation.Outcome]int)
	requests, runs := 0, 0
	began, cpu := time.Now(), cpuTime()
	runSimulations(t, n, func(i int) *simulation.Script {
		return simulation.Generate(uint64(first + i))
	}, func(i int, s *simulation.Script, v *simulation.Verdict) {
		mu.Lock()
		outcomes[v.Outcome]++
		requests += v.Requests
		runs += v.Runs
		failed := outcomes[simulation.Failed]
		mu.Unlock()
		name := fmt.Sprintf("seed-%d", first+i)
		switch {
		case len(v.Failures) == 0:
		case failed <= shrunk:
			reportFailure(t, name, s)
		default:
			t.Errorf("%s: %s", name, v.Failures[0])
		}
	})
	for _, o := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%6.2f %% %s", 100*float64(outcomes[o])/float64(n), o)
	}
	each := func(d time.Duration) time.Duration { return (d / time.Duration(n)).Round(10 * time.Microsecond) }
	t.Logf("%d histories with %d runs and %d requests; each took %v, and %v of a core", n, runs, requests, each(time.Since(began)), each(cpuTime()-cpu))
}

// cpuTime returns the CPU time of this process, or 0 if it is unknown.
var cpuTime = func() time.Duration { return 0 }

// TestSimulationShort runs short histories: one of every RESOURCESYNC_SIMULATION_SHORT.
func TestSimulationShort(t *testing.T) {
	needs.Time(t)
	every := number(t, "RESOURCESYNC_SIMULATION_SHORT", 1999)
	all := slices.Collect(simulation.Short)
	var failed atomic.Int64
	runSimulations(t, len(all)/every, func(i int) *simulation.Script { return all[i*every+i%every] },
		func(i int, s *simulation.Script, v *simulation.Verdict) {
			name := fmt.Sprintf("short-%d", i*every+i%every)
			switch {
			case len(v.Failures) == 0:
			case failed.Add(1) <= shrunk:
				reportFailure(t, name, s)
			default:
				t.Errorf("%s: %s", name, v.Failures[0])
			}
		})
	t.Logf("%d of %d short histories, %d failed", len(all)/every, len(all), failed.Load())
}

// number returns the value of an environment variable, or a default.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// shrunk is the number of failing histories that are shrunk. Of the others, only the seed is
// reported.
const shrunk = 8

// replays is the number of times that a failing history is repeated.
const replays = 100

// scripts is the folder of the scripts of histories that failed once.
const scripts = "testdata/simulation"

// reportFailure shrinks a failing history, and saves it where TestSimulationScripts finds it.
func reportFailure(t *testing.T, name string, s *simulation.Script) {
	t.Helper()
	run := func(s *simulation.Script) *simulation.Verdict { return simulate(t, s) }
	s = simulation.Shrink(s, run)
	failed, last := 0, (*simulation.Verdict)(nil)
	for range replays {
		if v := run(s); len(v.Failures) > 0 {
			failed, last = failed+1, v
		}
	}
	if last == nil {
		t.Errorf("%s: it failed once, and not again:\n%s", name, s.Text())
		return
	}
	file := filepath.Join(scripts, name+".txt")
	if err := os.WriteFile(file, []byte(s.Text()), 0o666); err != nil {
		t.Error(err)
	}
	t.Errorf("%s: %v\nit fails in %d of %d replays; its script is in %s:\n%s\n%s", name, last.Failures[0], failed, replays, file, s.Text(), strings.Join(last.Trace, "\n"))
}

// TestSimulationScripts runs the histories of defects that have been fixed.
func TestSimulationScripts(t *testing.T) {
	needs.Time(t)
	files, err := filepath.Glob(filepath.Join(scripts, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := simulation.ParseScript(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if v := simulate(t, s); len(v.Failures) > 0 {
				t.Errorf("%v\n%s", v.Failures, strings.Join(v.Trace, "\n"))
			}
		})
	}
}
