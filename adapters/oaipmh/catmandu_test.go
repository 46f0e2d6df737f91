package oaipmh_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A catmanduRecord is a record of the provider in testdata/catmandu.
type catmanduRecord struct {
	ID        string `json:"_id"`
	Datestamp string `json:"datestamp"`
	Title     string `json:"title"`
	URI       string `json:"uri"`
	Set       string `json:"set"`
	Deleted   int    `json:"deleted"`
}

// startCatmandu starts the OAI-PMH provider of Catmandu, and returns its address and its
// file.
func startCatmandu(t *testing.T) (url, file string) {
	t.Helper()
	if err := exec.Command("perl", "-MDancer::Plugin::Catmandu::OAI", "-e1").Run(); err != nil {
		needs.Skip(t, "install libdancer-plugin-catmandu-oai-perl:", err)
	}
	_, port, _ := net.SplitHostPort(needs.Address(t))
	file = filepath.Join(t.TempDir(), "records.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "perl", filepath.Join("testdata", "catmandu", "repository.pl"), port, file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
	})
	url = "http://127.0.0.1:" + port + "/oai"
	for end := time.Now().Add(needs.Patience); ; time.Sleep(100 * time.Millisecond) {
		res, err := http.Get(url + "?verb=Identify")
		if err == nil {
			res.Body.Close()
			return url, file
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestCatmandu harvests an implementation that is in productive use.
func TestCatmandu(t *testing.T) {
	needs.Time(t)
	url, file := startCatmandu(t)
	at := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05Z") }
	var records []catmanduRecord
	for i := range 75 {
		records = append(records, catmanduRecord{
			ID: fmt.Sprint(i), Datestamp: at(24*time.Hour + time.Duration(i)*time.Minute), Title: "Title & <more>",
			URI: fmt.Sprintf("https://catmandu.example/record/%d?a=1&b=2", i), Set: []string{"physics", "other"}[i%2],
		})
	}
	write := func() {
		t.Helper()
		var lines []byte
		for _, r := range records {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
		}
		if err := os.WriteFile(file, lines, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(f *fixture, set string) {
		t.Helper()
		var want []string
		for _, r := range records {
			if r.Deleted == 0 && (set == "" || r.Set == set) {
				want = append(want, r.URI)
			}
		}
		slices.Sort(want)
		if got := f.uris(); !slices.Equal(got, want) {
			t.Errorf("the set has\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	harvester := func(o oaipmh.Options) *fixture {
		f := newFixture(t, 0, o)
		f.restartAt(url)
		return f
	}
	all, physics := harvester(oaipmh.Options{FullEvery: -1}), harvester(oaipmh.Options{Set: "physics", FullEvery: time.Nanosecond})
	write()
	all.harvest()
	check(all, "")
	physics.harvest()
	check(physics, "physics")

	records[3].Datestamp, records[3].URI = at(0), "https://catmandu.example/moved"
	records[4].Datestamp, records[4].Deleted = at(0), 1
	records[6].Set = "other"
	records = append(records, catmanduRecord{ID: "new", Datestamp: at(0), URI: "https://catmandu.example/new", Set: "physics"})
	write()
	if r := all.harvest(); r.Created != 1 || r.Updated != 1 || r.Deleted != 1 {
		t.Errorf("the changes have the result %+v", r)
	}
	check(all, "")
	physics.harvest()
	check(physics, "physics")
	if st := all.harvester.Status(); st.Name != "Catmandu" || st.DeletedRecord != "persistent" || st.Granule != time.Second {
		t.Errorf("the status is %+v", st)
	}

	other := harvester(oaipmh.Options{MetadataPrefix: "marcxml"})
	if _, err := other.harvester.Fill(t.Context()); err == nil || !strings.Contains(err.Error(), "its metadata prefixes are oai_dc") {
		t.Errorf("the error is %v", err)
	}
}
