package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A clusterMirror is a mirror of the cluster, and its copy.
type clusterMirror struct {
	*service
	copy  string
	flags []string // of each run
	way   string   // matches a line of its log, or of the log of nginx, that shows how it got resources
}

// startMirrors starts five mirrors, which get the same resources by different ways.
func (c *cluster) startMirrors() {
	callback := needs.Address(c.t)
	for _, way := range []struct {
		name    string
		flags   []string // of each run
		running []string // of the process that keeps running
		way     string
	}{
		{"lists", []string{"--use-dumps", "never"}, []string{"--every", "2s"}, "200 GET /resourcesync/pages/.*name=lists"},
		{"dumps", []string{"--use-dumps", "always"}, []string{"--every", "3s"}, "200 GET /resourcesync/.*[.]zip .*name=dumps"},
		{"bucket", nil, []string{"--every", "2s"}, "200 GET /resourcesync/.*name=bucket.* (HIT|MISS)"},
		{"websub", nil, []string{"--follow", "--callback-listen", callback, "--callback-url", "http://" + callback + "/callback/"}, "by=WebSub"},
		{"websocket", nil, []string{"--follow"}, "by=WebSocket"},
	} {
		program, err := os.Executable()
		must(c.t, err)
		m := &clusterMirror{copy: filepath.Join(c.t.TempDir(), "copy"), flags: append(way.flags, "--name", way.name), way: way.way}
		m.service = newService(c.t, "mirror-"+way.name, "", func() *exec.Cmd {
			cmd := exec.Command(program, slices.Concat([]string{"mirror", c.site, m.copy}, m.flags, way.running)...)
			cmd.Env = append(os.Environ(), beMain+"=1")
			return cmd
		})
		m.start()
		c.mirrors = append(c.mirrors, m)
	}
}
