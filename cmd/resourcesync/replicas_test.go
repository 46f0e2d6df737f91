package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// Three processes that share a PostgreSQL database and a folder serve the same
// documents to the byte. Whichever is killed, the others publish every change.
func TestReplicas(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	flags := []string{"--base-url", publicURL, "--state", newPostgres(t), "--page-size", "5", "--rescan", "1h"}
	var replicas [3]*process
	for i := range replicas {
		replicas[i] = startProcess(t, folder, flags...)
	}
	for _, p := range replicas {
		p.stdout.await(fmt.Sprintf("Ready: %d files", len(sampleFiles)))
	}
	var want []string
	change := func() {
		key := fmt.Sprintf("new%02d", len(want))
		replicas[0].write(key, key)
		want = append(want, "created "+key)
	}
	agree := func(running ...*process) {
		t.Helper()
		var first map[string]string
		for i, p := range running {
			p.awaitChanges(len(want))
			p.settle()
			documents := p.documents()
			if i == 0 {
				first = documents
			} else if !maps.Equal(documents, first) {
				t.Errorf("replicas differ:\n%v\nand\n%v", first, documents)
			}
		}
		// The changes of one scan may be in any order.
		if got := slices.Sorted(slices.Values(running[0].changes())); !slices.Equal(got, want) {
			t.Errorf("changes %q, want %q", got, want)
		}
	}
	began := time.Now()
	change()
	agree(replicas[:]...)
	// A slow machine is slow at taking over, too.
	limit := 5*time.Second + 5*time.Since(began)
	for i, p := range replicas {
		change() // which the killed process may be about to publish
		p.kill()
		killed := time.Now()
		left := slices.Concat(replicas[:i], replicas[i+1:])
		change()
		left[0].awaitChanges(len(want))
		if took := time.Since(killed); took > limit {
			t.Errorf("taken over within %v, want at most %v", took, limit)
		} else {
			t.Logf("taken over within %v", took.Round(time.Millisecond))
		}
		replicas[i] = startProcess(t, folder, flags...)
		replicas[i].stdout.await("Ready")
	}
	agree(replicas[:]...)
	for _, p := range replicas {
		p.kill()
	}
}
