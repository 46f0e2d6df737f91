package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A copySource is a Destination that reads documents as the reference client (resync 2)
// does in its 1.0 mode: it ignores datetime, takes lastmod as the time of a change,
// reads a single Change List, accepts no compression, and remembers only the latest
// lastmod it has seen. docs/harvesting.md describes its limits.
type copySource struct {
	t      testing.TB
	site   string // the URI that is mapped to folder
	folder string
	last   time.Time // the stored timestamp
}

// A difference is the result of an audit, as URIs.
type difference struct{ created, updated, deleted []string }

func (d difference) inSync() bool { return len(d.created)+len(d.updated)+len(d.deleted) == 0 }

var uncompressed = http.Client{Transport: &http.Transport{DisableCompression: true}}

// read gets a document that must have a capability.
func (m *copySource) read(uri, capability string) (d document, err error) {
	res, err := uncompressed.Get(uri)
	if err != nil {
		return d, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return d, fmt.Errorf("%s: %s", uri, res.Status)
	}
	if err := xml.NewDecoder(res.Body).Decode(&d); err != nil {
		return d, err
	}
	if d.Metadata.Capability != capability {
		return d, fmt.Errorf("%s: capability %q, want %q", uri, d.Metadata.Capability, capability)
	}
	return d, nil
}

// path returns the path of the copy of the resource at a URI. The escapes of the URI
// are kept.
func (m *copySource) path(uri string) string {
	m.t.Helper()
	key, found := strings.CutPrefix(uri, m.site)
	if !found {
		m.t.Fatalf("%s is not mapped", uri)
	}
	return filepath.Join(m.folder, filepath.FromSlash(key))
}

// compare returns how the folder differs from a Resource List, of one document or of
// an index.
func (m *copySource) compare(list string) (d difference, source map[string]entry) {
	m.t.Helper()
	doc, err := m.read(list, "resourcelist")
	must(m.t, err)
	entries := doc.Entries
	for _, part := range doc.Parts {
		doc, err := m.read(part.Loc, "resourcelist")
		must(m.t, err)
		entries = append(entries, doc.Entries...)
	}
	source = make(map[string]entry)
	for _, e := range entries {
		source[e.Loc] = e
	}
	must(m.t, filepath.WalkDir(m.folder, func(path string, at fs.DirEntry, err error) error {
		if err != nil || at.IsDir() {
			return err
		}
		key, err := filepath.Rel(m.folder, path)
		must(m.t, err)
		uri := m.site + filepath.ToSlash(key)
		switch e, listed := source[uri]; {
		case !listed:
			d.deleted = append(d.deleted, uri)
		case !m.same(path, e):
			d.updated = append(d.updated, uri)
		}
		return nil
	}))
	for _, uri := range slices.Sorted(maps.Keys(source)) {
		if _, err := os.Stat(m.path(uri)); errors.Is(err, fs.ErrNotExist) {
			d.created = append(d.created, uri)
		}
	}
	return d, source
}

// same reports whether a file matches e: its time to within a second, its length and
// its digest. Without a lastmod it never is.
func (m *copySource) same(path string, e entry) bool {
	info, err := os.Stat(path)
	must(m.t, err)
	body, err := os.ReadFile(path)
	must(m.t, err)
	digest := sha256.Sum256(body)
	return !e.LastMod.IsZero() && info.ModTime().Sub(e.LastMod).Abs() < time.Second &&
		e.Metadata.Length == fmt.Sprint(info.Size()) &&
		strings.Contains(e.Metadata.Hash+" ", "sha-256:"+hex.EncodeToString(digest[:])+" ")
}

// audit is --audit.
func (m *copySource) audit(list string) difference {
	m.t.Helper()
	d, _ := m.compare(list)
	return d
}

// baseline is --baseline --delete.
func (m *copySource) baseline(list string) {
	m.t.Helper()
	d, source := m.compare(list)
	for _, uri := range slices.Concat(d.created, d.updated) {
		m.update(source[uri])
	}
	for _, uri := range d.deleted {
		must(m.t, os.Remove(m.path(uri)))
	}
}

// incremental is --incremental --delete. from is its --from; without one the stored
// timestamp is used.
func (m *copySource) incremental(list string, from time.Time) error {
	m.t.Helper()
	doc, err := m.read(list, "changelist")
	if err != nil {
		return err
	}
	if len(doc.Parts) > 0 {
		return fmt.Errorf("%s is an index", list)
	}
	var latest time.Time
	var changes []entry
	for _, e := range doc.Entries {
		if e.LastMod.IsZero() {
			return fmt.Errorf("%s: the change of %s has no lastmod", list, e.Loc)
		}
		if e.LastMod.After(latest) {
			latest = e.LastMod
		}
		if !e.LastMod.Before(cmp.Or(from, m.last)) {
			changes = append(changes, e)
		}
	}
	for _, e := range lastChanges(changes) {
		if e.Metadata.Change != "deleted" {
			m.update(e)
		} else if err := os.Remove(m.path(e.Loc)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(changes) > 0 {
		m.last = latest
	}
	return nil
}

// lastChanges returns the last change of each resource, except of resources that are
// created by their first change and deleted by their last.
func lastChanges(changes []entry) []entry {
	first, last := make(map[string]string), make(map[string]int)
	for i, e := range changes {
		if _, seen := first[e.Loc]; !seen {
			first[e.Loc] = e.Metadata.Change
		}
		last[e.Loc] = i
	}
	var kept []entry
	for i, e := range changes {
		if last[e.Loc] == i && (e.Metadata.Change != "deleted" || first[e.Loc] != "created") {
			kept = append(kept, e)
		}
	}
	return kept
}

// update copies a resource, and dates the copy by its lastmod in whole seconds.
func (m *copySource) update(e entry) {
	m.t.Helper()
	res, err := http.Get(e.Loc)
	must(m.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(m.t, err)
	if res.StatusCode != http.StatusOK {
		m.t.Fatalf("%s: %s", e.Loc, res.Status)
	}
	path := m.path(e.Loc)
	write(m.t, path, string(body))
	if !e.LastMod.IsZero() {
		at := e.LastMod.Truncate(time.Second)
		must(m.t, os.Chtimes(path, at, at))
		if e.LastMod.After(m.last) {
			m.last = e.LastMod
		}
	}
}

// TestD3_ReferenceClient10 keeps a copy of a folder that a process serves as
// docs/harvesting.md recommends for the reference client in its 1.0 mode, and shows each
// limit that the page states.
func TestD3_ReferenceClient10(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i := range 12 {
		write(t, filepath.Join(folder, "in a folder", fmt.Sprintf("%02d ü.txt", i)), fmt.Sprint(i))
	}
	p := startProcess(t, folder, "--page-size", "5", "--rescan", "1s", "--max-delete", "100%")
	p.stdout.await("Ready")
	list, index, recent := p.capabilities()["resourcelist"], p.site+"resourcesync/changelist.xml", p.site+"resourcesync/changelist/recent.xml"
	m := &copySource{t: t, site: p.site, folder: t.TempDir()}
	inSync := func(when string) {
		t.Helper()
		if d := m.audit(list); !d.inSync() {
			t.Errorf("%s: %+v", when, d)
		}
	}
	anHourAgo := func() time.Time { return time.Now().Add(-time.Hour) }
	changes := 0
	await := func(more int) {
		t.Helper()
		changes += more
		p.awaitChanges(changes)
	}

	m.baseline(list)
	inSync("after the baseline")
	for i := range 4 {
		p.write(fmt.Sprintf("new/%d.html", i), strings.Repeat("new ", i+1))
		p.write(fmt.Sprintf("in a folder/%02d ü.txt", i), strings.Repeat("updated ", i+1))
		must(t, os.Remove(filepath.Join(folder, "in a folder", fmt.Sprintf("%02d ü.txt", 11-i))))
		await(3)
		must(t, m.incremental(recent, anHourAgo()))
		inSync(fmt.Sprint("after increment ", i))
	}
	if err := m.incremental(index, anHourAgo()); err == nil {
		t.Error("reads a Change List Index")
	}

	// A file that keeps an earlier time is older than the stored timestamp, but within
	// the hour of --from.
	moved := filepath.Join(t.TempDir(), "moved")
	write(t, moved, "moved here")
	at := time.Now().Add(-30 * time.Minute)
	must(t, os.Chtimes(moved, at, at))
	must(t, os.Rename(moved, filepath.Join(folder, "moved.txt")))
	await(1)
	must(t, m.incremental(recent, time.Time{}))
	if d := m.audit(list); len(d.created) != 1 {
		t.Errorf("with the stored timestamp: %+v", d)
	}
	must(t, m.incremental(recent, anHourAgo()))
	inSync("after an increment from an hour ago")

	// The client drops the creation and the deletion of one resource in one list,
	// although it has the copy. A baseline deletes it.
	must(t, os.Remove(filepath.Join(folder, "new", "0.html")))
	await(1)
	must(t, m.incremental(recent, anHourAgo()))
	if d := m.audit(list); !slices.Equal(d.deleted, []string{p.site + "new/0.html"}) {
		t.Errorf("created and deleted: %+v", d)
	}
	m.baseline(list)
	inSync("after another baseline")

	// The client takes a resource without a lastmod for changed each time.
	write(t, moved, "of tomorrow")
	at = time.Now().Add(24 * time.Hour)
	must(t, os.Chtimes(moved, at, at))
	must(t, os.Rename(moved, filepath.Join(folder, "tomorrow.txt")))
	await(1)
	m.baseline(list)
	if d := m.audit(list); !slices.Equal(d.updated, []string{p.site + "tomorrow.txt"}) || len(d.created)+len(d.deleted) > 0 {
		t.Errorf("without a lastmod: %+v", d)
	}
}
