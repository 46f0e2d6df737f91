package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
)

// TestMissingArguments: the error of each missing flag or argument names it, its variable, and
// an example that the command accepts.
func TestMissingArguments(t *testing.T) {
	table := "--db cms.db --table articles --key id --uri https://example.org/{id}"
	for args, want := range map[string]string{
		"serve":                       "serve: no folder given; give the folder whose files are to be published, as in: resourcesync serve /srv/files, or in RESOURCESYNC_FOLDER;",
		"proxy":                       "proxy: no --upstream given; give the address of the web server, as in --upstream http://127.0.0.1:8000, or in RESOURCESYNC_UPSTREAM;",
		"oai":                         "oai: no url given; give the address of the repository's OAI-PMH interface, as in: resourcesync oai https://repo.example.org/oai, or in RESOURCESYNC_URL;",
		"bucket":                      "bucket: no bucket given; give the bucket whose objects are to be published, as in: resourcesync bucket s3://NAME, or in RESOURCESYNC_BUCKET;",
		"bucket s3://a":               "bucket: no --uri given; give the public URL of the objects, with {key} in place of the name of an object, as in --uri 'https://a.s3.amazonaws.com/{key}', or in RESOURCESYNC_URI;",
		"replica":                     "replica: no source given; give the URL of the Source to be copied, as in: resourcesync replica https://library.example.org/, or in RESOURCESYNC_SOURCE;",
		"replica http://a/":           "replica: no --copy given; give the folder for the copies, which is for nothing else, as in --copy /var/lib/resourcesync/library, or in RESOURCESYNC_COPY;",
		"table":                       "table: no --db given; give the database with the table, as in --db postgres://user@host/database, or in RESOURCESYNC_DB;",
		"table --db cms.db":           "table: no --table given; give the table or view, as in --table articles, or in RESOURCESYNC_TABLE;",
		"table " + table[:28]:         "table: no --key given; give the column that identifies a row, as in --key id, or in RESOURCESYNC_KEY;",
		"table " + table[:37]:         "table: no --uri given; give the template of the URIs, with columns in braces, as in --uri 'https://example.org/articles/{id}', or in RESOURCESYNC_URI;",
		"triggers":                    "triggers: no --db given;",
		"triggers --db cms.db --drop": "triggers: no --table given;",
		"triggers " + table[:28]:      "triggers: no --key given;",
		"run":                         "run: no config given; give the configuration file, as in: resourcesync run /etc/resourcesync/site.yaml, or in RESOURCESYNC_CONFIG;",
		"check-config":                "check-config: no config given; give the configuration file, as in: resourcesync check-config /etc/resourcesync/site.yaml, or in RESOURCESYNC_CONFIG;",
		"build":                       "build: no folder given; give the folder whose files are to be published, as in: resourcesync build /srv/files, or in RESOURCESYNC_FOLDER;",
		"build .":                     "build: no --out given; give the folder or bucket for the documents, as in --out /var/www/html, or in RESOURCESYNC_OUT;",
		"build . --out out":           "build: no --base-url given; give the public URL of the folder, as in --base-url https://files.example.org/, or in RESOURCESYNC_BASE_URL;",
		"mirror":                      "as in: resourcesync mirror https://example.org/ copy;",
		"mirror http://a/ s3://b":     "mirror: no --state-folder given; give a folder of this computer for the state of the copy in the bucket, as in --state-folder /var/lib/mirror, or in RESOURCESYNC_STATE_FOLDER;",
		"check":                       "as in: resourcesync check https://example.org/;",
		"confirm-deletions":           "confirm-deletions: no set given; give the arguments of the server that holds its deletions, as in: resourcesync confirm-deletions /srv/files, or",
		"confirm-deletions oai":       "confirm-deletions oai: no url given; give the address of the repository's OAI-PMH interface, as in: resourcesync confirm-deletions oai https://repo.example.org/oai, or in RESOURCESYNC_URL;",
		"completion":                  "as in: resourcesync completion bash",
	} {
		if line := failing(t, exit.Usage, strings.Fields(args)...); !strings.Contains(line, want) {
			t.Errorf("%s:\n got %s\nwant %s", args, line, want)
		}
	}
}

// TestMissingKeys: for a file, the error names the key and its line.
func TestMissingKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yaml")
	for set, want := range map[string]string{
		"kind: folder":                         "site.yaml:2: a set of the kind folder has no folder; add the folder whose files are to be published, as in folder: /srv/files",
		"kind: upstream":                       "has no upstream; add the address of the web server, as in upstream: http://127.0.0.1:8000",
		"kind: oai":                            "has no url; add the address of the repository's OAI-PMH interface, as in url: https://repo.example.org/oai",
		"kind: bucket":                         "has no bucket; add the bucket whose objects are to be published, as in bucket: s3://NAME",
		"kind: bucket, bucket: s3://a":         "has no uri; add the public URL of the objects, with {key} in place of the name of an object, as in uri: 'https://a.s3.amazonaws.com/{key}'",
		"kind: source":                         "has no source; add the URL of the Source to be copied, as in source: https://library.example.org/",
		"kind: source, source: http://a/":      "has no copy; add the folder for the copies, which is for nothing else, as in copy: /var/lib/resourcesync/library",
		"kind: table":                          "has no db; add the database with the table, as in db: postgres://user@host/database",
		"kind: table, db: a":                   "has no table; add the table or view, as in table: articles",
		"kind: table, db: a, table: b":         "has no key; add the column that identifies a row, as in key: id",
		"kind: table, db: a, table: b, key: c": "has no uri; add the template of the URIs, with columns in braces, as in uri: 'https://example.org/articles/{id}'",
	} {
		must(t, os.WriteFile(file, []byte("sets:\n  - {"+set+"}\n"), 0o600))
		if line := failing(t, exit.Usage, "run", file); !strings.Contains(line, want) {
			t.Errorf("%s:\n got %s\nwant %s", set, line, want)
		}
	}
}
