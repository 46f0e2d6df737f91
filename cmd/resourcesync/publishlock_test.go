package main

import (
	"os"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

// TestPublishWithoutConditions: of two processes with one state that publish to a bucket that ignores the
// conditions of writes, one writes, and the other takes over after it was killed. Each says at
// its start what keeps them apart.
func TestPublishWithoutConditions(t *testing.T) {
	needs.Time(t)
	t.Parallel() // it waits for the end of a lease
	b := s3test.Versity.Unconditional(t)
	b.Publish(t, "*")
	folder := sampleFolder(t)
	flags := []string{"--base-url", publicURL, "--state", newPostgres(t), "--publish", inBucket(t, b.URL), "--status", "127.0.0.1:0"}
	const said = "the bucket ignores the conditions of writes, so the lock is in the state"
	publishes := func(p *process) bool {
		_, now := p.toldOperators()
		return len(now.Published) == 1 && now.Published[0].Publishing && now.Published[0].Documents > 0 && now.Healthy
	}
	program, err := os.Executable()
	must(t, err)
	start := func() *process {
		p := newProcess(t, program, folder, flags...)
		p.Env = append(p.Env, b.Environ()...)
		must(t, p.Start())
		p.awaitListening()
		return p
	}
	first := start()
	first.stderr.await(said)
	first.until("the first process publishes", func() bool { return publishes(first) })
	second := start()
	second.stderr.await("another process publishes the documents; standing by")
	first.write("new.txt", "new")
	first.until("the change is in the bucket", func() bool {
		_, list := get(t, strings.Replace(b.Public, "{key}", "site/resourcesync/changelist.xml", 1))
		return strings.Contains(list, "new.txt")
	})
	if publishes(second) {
		t.Error("both processes publish")
	}
	first.kill()
	second.stderr.await(said)
	second.until("the second process publishes", func() bool { return publishes(second) })
	second.write("newer.txt", "newer")
	second.until("the change is in the bucket", func() bool {
		_, list := get(t, strings.Replace(b.Public, "{key}", "site/resourcesync/changelist.xml", 1))
		return strings.Contains(list, "new.txt") && strings.Contains(list, "newer.txt")
	})
	second.kill()
}

// TestBuildWithoutConditions: build says once what keeps writers apart in a bucket that ignores conditions.
func TestBuildWithoutConditions(t *testing.T) {
	b := public(t, s3test.Moto.Unconditional(t))
	built := newBuilt(t, inBucket(t, b.URL), "https://files.example.org/")
	_, status, stderr := built.try()
	if status != 0 || strings.Count(stderr, "so the lock is in the state, and separates only processes that use this state") != 1 {
		t.Errorf("status %d: %s", status, stderr)
	}
}
