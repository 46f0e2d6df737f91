package resourcesync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

const module = "github.com/resourcesync-go/resourcesync"

// floors orders the packages of the module: each imports only from floors below
// its own (docs/design/packages.md). A package that is not named has the floor of the
// folder it is in.
var floors = map[string]int{
	"":                           0,
	"/rsxml":                     1,
	"/scan":                      3,
	"/scan/scantest":             8,
	"/linkheader":                1,
	"/internal":                  2,
	"/internal/edits":            0,
	"/internal/leaktest":         1,
	"/internal/needs":            1,
	"/internal/paths":            1,
	"/internal/testmain":         0,
	"/internal/timetext":         0,
	"/internal/webpage":          1,
	"/internal/pages":            3,
	"/internal/background":       1,
	"/providertest":              2,
	"/wellknown":                 3,
	"/topic":                     4,
	"/internal/pushlog":          2,
	"/topic/topiclog":            3,
	"/internal/publisher":        5,
	"/topic/hub":                 5,
	"/topic/websocket":           8,
	"/rshttp":                    7,
	"/adapters":                  8,
	"/destination":               8,
	"/static":                    8,
	"/check":                     8,
	"/internal/webclient":        3,
	"/internal/fetch":            8,
	"/internal/tree":             8,
	"/cmd":                       9,
	"/examples":                  9,
	"/internal/rowdb":            8,
	"/internal/seam":             8,
	"/internal/coverage":         8,
	"/internal/pushlog/logtest":  4,
	"/internal/pushlog/outgoing": 4,
	"/internal/pushlog/sqllog":   8,
	"/internal/subscriber":       4,
	"/internal/ping":             3,
	"/internal/s3test":           8,
	"/internal/pgtest":           8,
	"/internal/azuretest":        8,
	"/internal/render":           3,
	"/internal/partition":        3,
	"/internal/transfer":         3,
	"/internal/packages":         4,
	"/internal/document":         5,
	"/internal/framework":        6,
	"/internal/view":             6,
	"/internal/callback":         3,
	"/internal/crc":              1,
	"/internal/digest":           1,
	"/internal/stored":           4,
}

// storage adapters need nothing but the vocabulary, and what it is divided by.
var storage = []string{"/adapters/memory", "/adapters/dir", "/adapters/sqlstore", "/adapters/sqltable"}

// coreDependencies are the modules that the core may depend on, beside the
// standard library. What is heavier lives behind an adapter.
var coreDependencies = []string{
	"github.com/gorilla/mux",
	"github.com/patrickmn/go-cache",
	"golang.org/x/sync",
	"github.com/klauspost/compress",
	"github.com/a-h/templ",
	"github.com/dustin/go-humanize",
}

func floor(pkg string) int {
	for path := strings.TrimPrefix(pkg, module); ; path = path[:strings.LastIndexByte(path, '/')] {
		if f, ok := floors[path]; ok {
			return f
		}
	}
}

// TestImports holds the floors of the house and the core's list of
// dependencies.
func TestImports(t *testing.T) {
	for pkg, p := range listPackages(t) {
		if !hasPrefix(pkg, []string{module}) {
			continue
		}
		path := strings.TrimPrefix(pkg, module)
		for _, imp := range p.Imports {
			ours := imp == module || strings.HasPrefix(imp, module+"/")
			switch {
			case ours && floor(imp) > floor(pkg):
				t.Errorf("%s imports %s, which is on a higher floor", pkg, imp)
			case ours && floor(imp) == floor(pkg) && floor(pkg) < floors["/adapters"]:
				t.Errorf("%s imports %s, which is on the same floor", pkg, imp)
			case imp == module+"/destination/internal/simulation":
				t.Errorf("%s imports the simulation, which is for tests only", pkg)
			case ours && hasPrefix(path, storage) && imp == module+"/rshttp":
				t.Errorf("%s is a storage adapter and imports %s", pkg, imp)
			case ours && path != "/destination/internal/simulation" && hasPrefix(path, []string{"/destination", "/check", "/internal/fetch", "/internal/tree"}) && hasPrefix(imp, []string{module + "/rshttp", module + "/adapters"}):
				t.Errorf("%s reads Sources and imports %s, which is of a Source", pkg, imp)
			case path == "" && imp == "net/http":
				t.Errorf("the vocabulary imports net/http")
			case !ours && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") && floor(pkg) < floors["/adapters"] && !hasPrefix(imp, coreDependencies):
				t.Errorf("%s is of the core and imports %s", pkg, imp)
			}
		}
	}
}

// optional are packages that a program should link only if it uses them, by their
// prefixes.
var optional = map[string]string{
	"PostgreSQL":          "github.com/jackc/pgx/",
	"SQLite":              "zombiezen.com/go/sqlite",
	"SQLite's C":          "modernc.org/sqlite",
	"MySQL":               "github.com/go-sql-driver/mysql",
	"HTTP":                "net/http",
	"Prometheus":          "github.com/prometheus/",
	"Amazon S3":           "github.com/aws/aws-sdk-go-v2/service/s3",
	"Azure Blob Storage":  "github.com/Azure/azure-sdk-for-go/sdk/storage/",
	"Google Cloud":        "cloud.google.com/go/storage",
	"OpenTelemetry":       "go.opentelemetry.io/otel",
	"OpenTelemetry's SDK": "go.opentelemetry.io/otel/sdk",
}

// linked are packages and the optional packages that they link.
var linked = map[string][]string{
	"/rshttp":                        {"HTTP"},
	"/static":                        {"HTTP"},
	"/topic/hub":                     {"HTTP"},
	"/adapters/otel":                 {"HTTP", "OpenTelemetry"},
	"/adapters/prometheus":           {"HTTP", "Prometheus"},
	"/cmd/resourcesync":              {"HTTP", "Prometheus", "PostgreSQL", "SQLite", "SQLite's C", "MySQL", "Amazon S3", "Azure Blob Storage", "OpenTelemetry", "OpenTelemetry's SDK"},
	"/adapters/oaipmh":               {"HTTP"},
	"/adapters/sqlstore":             nil,
	"/adapters/sqlstore/pgstore":     {"PostgreSQL"},
	"/adapters/sqlstore/sqlitestore": {"SQLite", "SQLite's C"},
	"/adapters/bucket":               {"HTTP", "OpenTelemetry", "OpenTelemetry's SDK"},
	"/adapters/bucket/s3bucket":      {"HTTP", "OpenTelemetry", "OpenTelemetry's SDK", "Amazon S3"},
	"/adapters/bucket/azurebucket":   {"HTTP", "OpenTelemetry", "OpenTelemetry's SDK", "Azure Blob Storage"},
	"/adapters/objectstore":          {"HTTP"},
	"/destination/blobsink":          {"HTTP", "OpenTelemetry", "OpenTelemetry's SDK", "SQLite", "SQLite's C"},
	"/adapters/sqltable":             nil,
	"/adapters/sqltable/pgtable":     {"PostgreSQL"},
	"/adapters/sqltable/sqlitetable": {"SQLite", "SQLite's C"},
	"/adapters/sqltable/mysqltable":  nil, // the host imports a driver
}

// TestEngines holds that a program links the driver of its own engine only, and no
// HTTP for a store alone.
func TestEngines(t *testing.T) {
	needs.Time(t)
	packages := listPackages(t)
	for path, allowed := range linked {
		for name, prefix := range optional {
			links := slices.ContainsFunc(packages[module+path].Deps, func(dep string) bool { return strings.HasPrefix(dep, prefix) })
			if needs := slices.Contains(allowed, name); links != needs {
				t.Errorf("%s: links %s is %t, expected %t", path, name, links, needs)
			}
		}
	}
}

func hasPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if s == p || strings.HasPrefix(s, p+"/") {
			return true
		}
	}
	return false
}
