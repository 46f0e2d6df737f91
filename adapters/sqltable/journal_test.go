package sqltable

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestD12_OtherURIsThanTheTriggers refuses only a journal whose triggers write other URIs
// than the table has. It warns about triggers that do not state their URIs.
func TestD12_OtherURIsThanTheTriggers(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, uri {text})")
		table := Table{Name: "papers", Key: "id", URI: "https://example.org/{uri}/{id}"} // {uri} is in the text of triggers, too
		d.journal(table, "papers")
		other := table
		other.URI = "https://example.org/{id}"
		store := d.store()
		papers, err := store.Journal(t.Context(), "papers")
		must(t, err)
		elsewhere, err := store.Journal(t.Context(), "elsewhere")
		must(t, err)
		for _, test := range []struct {
			table Table
			want  string
		}{{table, ""}, {other, "journal the URIs " + table.URI + ", but the table is opened with " + other.URI}} {
			p := d.provider(test.table)
			warning, err := p.CheckChanger(papers)
			if warning != "" {
				t.Errorf("warning %q", warning)
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, expected %q", err, test.want)
			}
			if warning, err := p.CheckChanger(elsewhere); warning != "" || err != nil {
				t.Errorf("another journal: %q, %v", warning, err)
			}
		}

		// An earlier version created the triggers without the mark.
		statements, err := d.triggers().Create(t.Context(), table, "papers")
		must(t, err)
		unmarked := 0
		for i, s := range statements {
			if strings.Contains(s, templateMark) {
				statements[i] = strings.ReplaceAll(s, templateMark, "-- ")
				unmarked++
			}
		}
		if unmarked == 0 {
			t.Fatal("no trigger has the mark")
		}
		must(t, d.triggers().Apply(t.Context(), statements))
		var log bytes.Buffer
		_, err = rshttp.New("https://example.org/rs/", []rshttp.Set{{Provider: d.provider(other), Changer: papers}},
			&rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		const want = "triggers of an earlier version: create them again so that their URIs can be checked"
		if n := strings.Count(log.String(), want); n != 1 || !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("%d warnings: %s", n, &log)
		}
	})
}
