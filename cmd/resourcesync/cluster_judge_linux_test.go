package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// truth returns the contents that a copy must have.
func (c *cluster) truth() map[string]string {
	all := maps.Clone(c.files.truth)
	maps.Copy(all, c.rows.truth)
	return all
}

// judge compares everything with the truth when nobody writes any more, and ends the programs.
func (c *cluster) judge() {
	t := c.t
	if got := table(t, c.db); !maps.Equal(got, c.rows.truth) {
		t.Errorf("the table has lost changes: %s", deviations(got, c.rows.truth))
	}
	files := map[string]string{}
	for name, text := range contents(t, c.folder) {
		files["files/"+name] = text
	}
	if !maps.Equal(files, c.files.truth) {
		t.Errorf("the folder has lost changes: %s", deviations(files, c.files.truth))
	}
	truth := c.truth()
	for _, m := range c.mirrors {
		c.judgeMirror(m, truth)
	}
	var reads int64
	for _, p := range c.peers {
		reads += c.judgePeer(p)
	}
	if reads == 0 {
		t.Error("no process has read from the standby")
	}
}

// judgeMirror waits until a copy equals the truth. Then it ends the mirror, runs it once more, and audits the copy.
func (c *cluster) judgeMirror(m *clusterMirror, truth map[string]string) {
	c.t.Helper()
	began, got := time.Now(), contents(c.t, m.copy)
	for ; !maps.Equal(got, truth) && time.Since(began) < needs.Patience; got = contents(c.t, m.copy) {
		time.Sleep(200 * time.Millisecond)
	}
	if maps.Equal(got, truth) {
		c.log.event("%s equals the truth after %.1f s", m.name, time.Since(began).Seconds())
	} else {
		c.t.Errorf("%s differs: %s", m.name, deviations(got, truth))
	}
	m.end()
	if logs := read(c.t, m.log.Name()) + read(c.t, c.accessLog); !regexp.MustCompile(m.way).MatchString(logs) {
		c.t.Errorf("%s has not got resources its way: no log has %q", m.name, m.way)
	}
	for _, last := range [][]string{nil, {"--audit"}} {
		status, stdout, stderr := runMirror(c.t, slices.Concat([]string{c.site, m.copy}, m.flags, last)...)
		if status != 0 {
			c.t.Errorf("the last run of %s %q ended with %d: %s%s", m.name, last, status, stdout, stderr)
		}
	}
	if got = contents(c.t, m.copy); !maps.Equal(got, truth) {
		c.t.Errorf("%s differs after the last run: %s", m.name, deviations(got, truth))
	}
}

// judgePeer waits until a process is healthy, and ends it. It returns how often it has read from the standby.
func (c *cluster) judgePeer(p *peer) (reads int64) {
	c.t.Helper()
	operators := "http://" + p.status + "/status.json"
	began, err := time.Now(), answers(operators)
	for ; err != nil && time.Since(began) < needs.Patience; err = answers(operators) {
		time.Sleep(200 * time.Millisecond)
	}
	_, body := get(c.t, operators)
	var now status.Status
	must(c.t, json.Unmarshal([]byte(body), &now))
	if !now.Healthy || len(now.Problems) > 0 {
		c.t.Errorf("%s is not healthy: %q", p.name, now.Problems)
	}
	p.end()
	c.log.event("%s was healthy after %.1f s, had read from the standby %d times, and has ended", p.name, time.Since(began).Seconds(), now.Standby.Reads)
	return now.Standby.Reads
}

// deviations says how contents differ.
func deviations(got, want map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if text, exists := got[name]; !exists {
			lines = append(lines, name+" is missing")
		} else if text != want[name] {
			lines = append(lines, fmt.Sprintf("%s is %.40q, want %.40q", name, text, want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, exists := want[name]; !exists {
			lines = append(lines, name+" is extra")
		}
	}
	if len(lines) > 10 {
		lines = append(lines[:10], fmt.Sprintf("and %d more", len(lines)-10))
	}
	return "\n" + strings.Join(lines, "\n")
}
