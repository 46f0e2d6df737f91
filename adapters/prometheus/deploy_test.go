package prometheus_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/prometheus"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
)

var (
	fqName     = regexp.MustCompile(`fqName: "([^"]+)"`)
	metricName = regexp.MustCompile(`\bresourcesync_[a-z_]+`)
)

// ofProgram are the metrics that cmd/resourcesync adds.
var ofProgram = []string{"resourcesync_certificate_expiry_timestamp_seconds", "resourcesync_harvesters", "resourcesync_harvesters_behind", "resourcesync_disk_free_bytes", "resourcesync_disk_size_bytes", "resourcesync_standby_lag_seconds", "resourcesync_standby_reads_total"}

// described returns the names of all metrics.
func described() []string {
	out := make(chan *client.Desc)
	go func() {
		prometheus.New().Describe(out)
		close(out)
	}()
	var names []string
	for d := range out {
		names = append(names, fqName.FindStringSubmatch(d.String())[1])
	}
	slices.Sort(names)
	return names
}

// used returns the names of the metrics in a file, without the suffixes of histograms.
func used(t *testing.T, text string) []string {
	t.Helper()
	names := map[string]bool{}
	for _, name := range metricName.FindAllString(text, -1) {
		names[strings.TrimSuffix(name, "_bucket")] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFiles: the alerts, the dashboard and the documentation name metrics that exist. The
// dashboard and the documentation have all of them.
func TestFiles(t *testing.T) {
	all := append(described(), ofProgram...)
	ofMirror := read(t, "docs/mirror.md") // a test of cmd/resourcesync compares its metrics
	for path, complete := range map[string]bool{
		"deploy/grafana/resourcesync.json":         true,
		"deploy/prometheus/resourcesync.rules.yml": false,
		"docs/operations/watch.md":                 true,
	} {
		names := used(t, read(t, path))
		for _, name := range names {
			if !slices.Contains(all, name) && !strings.Contains(ofMirror, "`"+name+"`") {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
		for _, name := range all {
			if complete && !slices.Contains(names, name) {
				t.Errorf("%s lacks %s", path, name)
			}
		}
	}
}

// TestDashboard: the dashboard is JSON, each panel has queries with balanced brackets, and no
// two panels share an id or overlap.
func TestDashboard(t *testing.T) {
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana/resourcesync.json")), &board); err != nil {
		t.Fatal(err)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, taken := cells[at]; taken {
					t.Fatalf("%q overlaps %q", p.Title, other)
				}
				cells[at] = p.Title
			}
		}
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("%q has %d queries", p.Title, len(p.Targets))
		}
		for _, q := range p.Targets {
			if !metricName.MatchString(q.Expr) || !balanced(q.Expr) {
				t.Errorf("%q: query %q", p.Title, q.Expr)
			}
		}
	}
	if len(board.Panels) < 20 {
		t.Errorf("only %d panels", len(board.Panels))
	}
}

func balanced(expr string) bool {
	var open []rune
	for _, c := range expr {
		switch i := strings.IndexRune(")]}", c); {
		case strings.ContainsRune("([{", c):
			open = append(open, c)
		case i >= 0 && (len(open) == 0 || open[len(open)-1] != rune("([{"[i])):
			return false
		case i >= 0:
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0
}

// TestScrapeHasAll: a scrape of a Source that does everything has every metric that is
// described.
func TestScrapeHasAll(t *testing.T) {
	src, m := observed(t, rshttp.Options{}, topic.RemoteHub{URI: "http://127.0.0.1:1/"}) // where nobody listens
	for range 2 {
		get(t, src, "/rs/papers/resourcelist.xml")
	}
	abandon(t, src, "/rs/papers/resourcelist.xml")
	m.Scanned("papers", time.Second, resourcesync.ScanResult{}, nil)
	defer run(t, src)()
	await(t, src, func(s topic.Status) bool { return !s.Topics[0].Until.IsZero() })
	scraped := map[string]bool{}
	for _, line := range scrape(t, m) {
		scraped[used(t, line)[0]] = true
	}
	for _, name := range described() {
		if !scraped[name] && !scraped[name+"_sum"] {
			t.Errorf("a scrape lacks %s", name)
		}
	}
}
