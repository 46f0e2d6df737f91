package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
)

// harvesterNotes returns the records about harvesters in the file of a state.
func harvesterNotes(t *testing.T, file string) (all []string) {
	t.Helper()
	s, err := sqlitestore.OpenFile(t.Context(), file, nil)
	must(t, err)
	defer s.Close()
	notes, err := s.Notes(t.Context(), "harvesters files")
	must(t, err)
	for key := range notes {
		all = append(all, key)
	}
	return all
}

// alterHarvesters writes harvesters into the file of a state.
func alterHarvesters(t *testing.T, file string, put map[string][]byte) {
	t.Helper()
	s, err := sqlitestore.OpenFile(t.Context(), file, nil)
	must(t, err)
	defer s.Close()
	must(t, s.SaveNotes(t.Context(), "harvesters files", put, nil))
}

// TestHarvestersKept: with --harvesters-keep, a restart restores the harvesters, except unreadable
// ones. A start without it removes them from the state.
func TestHarvestersKept(t *testing.T) {
	t.Parallel()
	folder, file := t.TempDir(), filepath.Join(t.TempDir(), "site.db")
	write(t, filepath.Join(folder, "a.txt"), "a")
	begin := func(flags ...string) *served {
		return startReady(t, folder, append(flags, "--state", file, "--status", "127.0.0.1:0")...)
	}
	s := begin("--harvesters-keep", "--harvesters-shorten")
	s.getAs(s.site+"resourcesync/resourcelist.xml", "resourcesync (name=berlin)", "")
	s.getAs(s.site+"resourcesync/changelist.xml", "resourcesync (name=berlin)", "")
	before := s.harvester("resourcesync (name=berlin)")
	if before.Name != "berlin" || before.Address != "127.0.0.0/24" || before.Requests != 2 {
		t.Errorf("%+v", before)
	}
	s.stop()
	if got := harvesterNotes(t, file); len(got) != 1 || !strings.HasPrefix(got[0], "127.0.0.0/24 ") {
		t.Errorf("the state has %q", got)
	}

	s = begin("--harvesters-keep", "--harvesters-shorten")
	if h := s.harvester("resourcesync (name=berlin)"); h.Requests != 2 || !h.First.Equal(before.First) || !h.Until.Equal(before.Until) {
		t.Errorf("after a restart: %+v, before: %+v", h, before)
	}
	_, page := s.getAs(s.stderr.await(`status for operators.* url=(\S+)`)[1], "", browserAccept)
	for _, want := range []string{"in memory and in the state.", "<strong>berlin</strong>", "<small>127.0.0.0/24</small>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	s.stop()

	alterHarvesters(t, file, map[string][]byte{"192.0.2.1 a": []byte(`{"sets":[{}]}`), "192.0.2.2 a": []byte("other")})
	s = begin("--harvesters-keep", "--harvesters-shorten")
	s.stderr.await(`WARN.*harvesters in the state cannot be read.* harvesters=2`)
	if h := s.harvester("resourcesync (name=berlin)"); h.Requests != 2 {
		t.Errorf("beside others that cannot be read: %+v", h)
	}
	s.stop()
	if got := harvesterNotes(t, file); slices.ContainsFunc(got, func(key string) bool { return !strings.HasPrefix(key, "127.0.0.0/24 ") }) {
		t.Errorf("the state still has %q", got)
	}

	s = begin()
	if h := s.harvester("resourcesync (name=berlin)"); h.Requests > 0 {
		t.Errorf("without the flag: %+v", h)
	}
	s.stop()
	if got := harvesterNotes(t, file); len(got) > 0 {
		t.Errorf("the state still has %q", got)
	}
}
