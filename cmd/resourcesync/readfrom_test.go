package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pgtest"
)

// TestReadFromStandby renders lists from a standby, and from the primary after the end of the standby.
// Operators see both.
func TestReadFromStandby(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	primary := pgtest.Start(t)
	standby := primary.Standby()
	s := startReady(t, sampleFolder(t), "--base-url", publicURL, "--state", pgtest.Address(primary), "--rescan", "1h",
		"--read-from", fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", standby.Port), "--status", "127.0.0.1:0")
	operators := s.stderr.await(`status for operators.* url=(\S+)`)[1]
	read := func() (served, failed string) {
		t.Helper()
		for _, path := range []string{"resourcesync/resourcelist.xml", "resourcesync/changelist.xml"} {
			if res, body := s.getAs(s.site+path, "reader", ""); res.StatusCode != http.StatusOK {
				t.Errorf("%s: %s: %s", path, res.Status, body)
			}
		}
		_, metrics := s.getAs(operators+"metrics", "prometheus", "")
		value := func(result string) string {
			return regexp.MustCompile(`resourcesync_standby_reads_total\{result="` + result + `"\} (\d+)`).FindStringSubmatch(metrics)[1]
		}
		if has := strings.Contains(metrics, "\nresourcesync_standby_lag_seconds "); has != (value("failed") == "0") {
			t.Errorf("the lag is known: %t\n%s", has, metrics)
		}
		return value("served"), value("failed")
	}
	primary.CaughtUp(standby)
	if served, failed := read(); served == "0" || failed != "0" {
		t.Errorf("%s reads of the standby, and %s failed", served, failed)
	}
	if _, page := s.getAs(operators, "Mozilla/5.0", browserAccept); !strings.Contains(page, "lags by 0.0") {
		t.Errorf("the page lacks the lag: %s", page)
	}
	standby.Kill()
	s.write("new.txt", "new")
	s.awaitChanges(1)
	if _, failed := read(); failed == "0" {
		t.Error("nothing failed")
	}
	if res, body := s.getAs(operators+"status.json", "", ""); res.StatusCode != http.StatusOK || !strings.Contains(body, `"failingSince"`) {
		t.Errorf("%s: %s", res.Status, body)
	}
	s.stderr.await("the standby cannot be read from; the primary serves")
	const notes = "SELECT count(*) FROM rs_note WHERE owner = 'resourcesync store' AND encode(key::bytea, 'escape') LIKE 'process %'"
	running := primary.Exec(notes)
	s.stop()
	if ended := primary.Exec(notes); running != "1" || ended != "0" {
		t.Errorf("%s processes have notes, and after the end %s", running, ended)
	}
}
