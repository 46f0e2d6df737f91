package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// clusterTime is an environment variable with the time for which parts of a cluster are killed.
const clusterTime = "RESOURCESYNC_CLUSTER"

// TestCluster runs a whole cluster on this computer: two PostgreSQL servers, three processes, an S3
// server, nginx as load balancer and cache, five mirrors, and writers. It kills every part in turn, and
// upgrades the processes in the middle. In the end, all copies equal the truth.
func TestCluster(t *testing.T) {
	if os.Getenv(clusterTime) == "" {
		t.Skip(clusterTime, "is not set: the time for which a cluster is attacked, such as 2m")
	}
	length, err := time.ParseDuration(os.Getenv(clusterTime))
	must(t, err)
	previous := ""
	if needs.Size(0, 1) > 0 {
		previous = previousProgram(t)
	}
	log := &runLog{t: t, began: time.Now(), kills: map[string]int{}}
	c := newCluster(t, log, previous)
	log.event("everything runs")
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writers.Go(func() { c.rows.write(ctx, 100*time.Millisecond) })
	writers.Go(func() { c.files.write(ctx, 200*time.Millisecond) })
	c.attack(length)
	stop()
	writers.Wait()
	log.event("%d changes of rows and %d of files were made", c.rows.done, c.files.done)
	c.judge()
	log.event("killed: %v", log.kills)
}

// A runLog has what was done when.
type runLog struct {
	t     *testing.T
	began time.Time
	kills map[string]int // by the names of parts
}

func (l *runLog) event(format string, args ...any) {
	l.t.Helper()
	l.t.Logf("%s %6.1f s  %s", time.Now().Format(time.TimeOnly), time.Since(l.began).Seconds(), fmt.Sprintf(format, args...))
}

func (l *runLog) killed(part string) {
	l.t.Helper()
	l.kills[part]++
	l.event("%s is killed", part)
}
