package mirror

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/bucketurl"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/disk"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/operators"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// withStatus serves the status of the copy at the address in --status while run runs.
func (m *mirroring) withStatus(ctx context.Context, listener net.Listener, run func(context.Context) error) error {
	m.metrics = newCopyMetrics(m)
	mux := operators.Handler(m.statusNow, m.metrics, disk.New(m.disks))
	mux.Handle("/healthz", &operators.Health{Log: m.log, Notes: func() []string { return nil }, Check: func(context.Context) error {
		var all []error
		for _, problem := range m.copyStatus().Problems {
			all = append(all, errors.New(problem))
		}
		return errors.Join(all...)
	}})
	server, _ := operators.NewServer(listener, m.Config.status, m.log, mux)
	return server.RunWhile(ctx, m.log, run)
}

func (m *mirroring) statusNow(context.Context) (any, status.Health, func() ([]byte, error)) {
	s := m.copyStatus()
	return s, s.Health, s.Page
}

// copyStatus describes the copy. A copy has problems if the last run has failed or left something
// undone; a first run that has not ended is not a problem.
func (m *mirroring) copyStatus() *status.CopyStatus {
	s := &status.CopyStatus{Copy: status.Copy{Status: m.Destination.Status(), Dir: m.at(), Release: m.Release()}}
	c := &s.Copy
	if next := m.next.Load(); next != nil {
		c.Next = *next
	}
	c.Measure(time.Now())
	if c.Error != "" {
		text := c.Error
		if failure := m.failure.Load(); failure != nil {
			text = sparse.Clip(*failure)
		}
		s.Problems = append(s.Problems, "the last run failed: "+strings.ReplaceAll(text, "\n", "; "))
	}
	if c.Last != nil {
		s.Problems = append(s.Problems, m.problems(c.Last)...)
	}
	s.Healthy = len(s.Problems) == 0
	return s
}

// at returns where the copy is. A command can name it in any folder.
func (c *Config) at() string {
	if bucketurl.Is(c.Folder) {
		return c.Folder
	}
	return absolute(c.Folder)
}

func absolute(path string) string {
	if at, err := filepath.Abs(path); err == nil {
		return at
	}
	return path
}

// Release returns the command that carries out held deletions.
func (c *Config) Release() string {
	words := []string{"resourcesync", "mirror", settings.ShellWord(c.Source), settings.ShellWord(c.at())}
	if bucketurl.Is(c.Folder) {
		words = append(words, "--state-folder", settings.ShellWord(absolute(c.state)))
	}
	return strings.Join(append(words, "--max-delete", "100%"), " ")
}

// disks returns the places of the state and of the copy. A copy in a bucket has no
// disk.
func (m *mirroring) disks() []disk.Place {
	if bucketurl.Is(m.Folder) {
		return []disk.Place{{Of: "state", Path: m.state}}
	}
	return []disk.Place{{Of: "state", Path: m.Folder}, {Of: "copy", Path: m.Folder}}
}
