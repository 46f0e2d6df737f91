package needs_test

import (
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A recorder records the end of a test.
type recorder struct {
	testing.TB
	skipped, failed int
}

func (r *recorder) Helper()      {}
func (r *recorder) Skip(...any)  { r.skipped++ }
func (r *recorder) Fatal(...any) { r.failed++; panic(r) }

// TestCI: unmet needs skip tests, but fail them in CI.
func TestCI(t *testing.T) {
	lacking := map[string]func(testing.TB){
		"variable": func(t testing.TB) { needs.Variable(t, "RESOURCESYNC_TEST_UNSET") },
		"program":  func(t testing.TB) { needs.Program(t, "resourcesync-no-such-program") },
	}
	for name, lack := range lacking {
		for ci, failed := range map[string]int{"": 0, "true": 1} {
			t.Setenv("CI", ci)
			r := &recorder{TB: t}
			func() {
				defer func() { recover() }()
				lack(r)
			}()
			if r.failed != failed || r.skipped != 1-failed {
				t.Errorf("%s, CI=%q: failed %d times, skipped %d times", name, ci, r.failed, r.skipped)
			}
		}
	}
	if path := needs.Program(t, "go"); path == "" {
		t.Error("go is not found")
	}
}
