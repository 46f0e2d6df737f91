package oaipmh_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
)

// TestExpiry lets tokens expire: once in the middle, and always after a few pages, so that
// the whole list cannot be read at once.
func TestExpiry(t *testing.T) {
	t.Run("once", func(t *testing.T) {
		f := newFixture(t, 100, oaipmh.Options{})
		f.PageSize = 10
		n := 0
		f.Before = func(http.ResponseWriter, *http.Request) bool {
			if n++; n == 7 {
				f.Expire()
			}
			return false
		}
		f.harvest()
		f.compare()
	})
	t.Run("always", func(t *testing.T) {
		f := newFixture(t, 1000, oaipmh.Options{})
		f.PageSize, f.ListPages = 20, 5 // 100 of 1,000 records
		f.harvest()
		f.compare()
		if n := len(f.Requests()); n > 250 {
			t.Errorf("the listing took %d requests", n)
		}
	})
	t.Run("too early", func(t *testing.T) {
		f := newFixture(t, 300, oaipmh.Options{})
		f.PageSize, f.ListPages, f.OnlyDates = 20, 1, true
		if _, err := f.harvester.Fill(t.Context()); err == nil || !strings.Contains(err.Error(), "expire before") {
			t.Errorf("the error is %v", err)
		}
		f.ListPages = 0
		f.harvest()
		f.compare()
	})
	t.Run("without until", func(t *testing.T) {
		needs.Time(t)
		f := newFixture(t, 5000, oaipmh.Options{}) // of more than three days
		f.PageSize, f.IgnoreUntil = 500, true
		n := 0
		f.Before = func(http.ResponseWriter, *http.Request) bool {
			if n++; n == 5 || n == 9 {
				f.Expire()
			}
			return false
		}
		f.harvest()
		f.compare()
	})
}

// TestGranularity harvests repositories that do not keep to their stated granularity. A
// record changes after the first harvest, on the same day.
func TestGranularity(t *testing.T) {
	needs.Time(t)
	for name, misstate := range map[string]func(*oaitest.Repository){
		"seconds":                       func(*oaitest.Repository) {},
		"days":                          func(r *oaitest.Repository) { r.Granularity = "YYYY-MM-DD" },
		"days with times of midnight":   func(r *oaitest.Repository) { r.OnlyDates = true },
		"seconds that are refused":      func(r *oaitest.Repository) { r.RefuseSeconds = true },
		"seconds, with days, refused":   func(r *oaitest.Repository) { r.RefuseSeconds, r.OnlyDates = true, true },
		"ignores from":                  func(r *oaitest.Repository) { r.IgnoreFrom = true },
		"ignores from and until":        func(r *oaitest.Repository) { r.IgnoreFrom, r.IgnoreUntil = true, true },
		"clock of another time, behind": func(r *oaitest.Repository) { r.Now = func() time.Time { return time.Now().Add(-8 * time.Hour) } },
		"clock of another time, ahead":  func(r *oaitest.Repository) { r.Now = func() time.Time { return time.Now().Add(8 * time.Hour) } },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, 150, oaipmh.Options{Overlap: time.Second, FullEvery: -1})
			misstate(f.Repository)
			f.harvest()
			f.compare()
			for i := range 3 {
				id := fmt.Sprintf("oai:repo.example:later-%d", i)
				f.Put(oaitest.Record{Identifier: id, Datestamp: f.Now(), Identifiers: []string{"https://repo.example/record/" + id}})
				f.Delete(fmt.Sprintf("oai:repo.example:%d", i+1))
				f.harvest()
				f.compare()
				f.restart()
			}
		})
	}
}

// TestBroken returns bad responses to some requests. The next attempt succeeds.
func TestBroken(t *testing.T) {
	body := func(text string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
	}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"503": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			io.WriteString(w, `<OAI-PMH><responseDate>2026-01-01T00:00:00Z</responseDate><ListRecords><record>`)
		},
		"ends early": body(`<OAI-PMH><responseDate>2026-01-01T00:00:00Z</responseDate><ListRecords><record>`),
		"not XML":    body(`<OAI-PMH><responseDate>2026-01-01T00:00:00Z</responseDate><ListRecords>Warning: a < b`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 50, oaipmh.Options{})
			f.PageSize = 10
			n := 0
			f.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if n++; n == 4 {
					answer(w, r)
				}
				return n == 4
			}
			f.harvest()
			f.compare()
		})
	}
}

// TestErrors harvests repositories that cannot be harvested at all, or not with these
// options.
func TestErrors(t *testing.T) {
	needs.Time(t)
	respond := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, text)
		}
	}
	repository := oaitest.New("https://repo.example", 30, midday)
	repository.PageSize = 10
	loop := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Query().Get("resumptionToken"), "0!20!") {
			r.URL.RawQuery = "verb=ListRecords&resumptionToken=" + url.QueryEscape("0!10!1!!!")
		}
		repository.ServeHTTP(w, r)
	})
	// endless answers each list with some records and a new token.
	endless := func(records func(n int) []string) http.Handler {
		n := 0
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("verb") != "ListRecords" {
				repository.ServeHTTP(w, r)
				return
			}
			n++
			fmt.Fprint(w, `<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>2026-01-01T00:00:00Z</responseDate><ListRecords>`)
			for _, name := range records(n) {
				fmt.Fprintf(w, `<record><header><identifier>oai:%[1]s</identifier><datestamp>2026-01-01T00:00:00Z</datestamp></header>
					<metadata><dc xmlns="urn:dc"><identifier>https://repo.example/%[1]s</identifier></dc></metadata></record>`, name)
			}
			fmt.Fprintf(w, `<resumptionToken>%d</resumptionToken></ListRecords></OAI-PMH>`, n)
		})
	}
	for _, c := range []struct {
		name    string
		handler http.Handler
		options oaipmh.Options
		want    string
	}{
		{"new tokens, the same record", endless(func(int) []string { return []string{"a"} }), oaipmh.Options{Rate: 1e6}, "repeats a part of its list"},
		{"new tokens, a circle", endless(func(n int) []string { return []string{fmt.Sprint(n % 7)} }), oaipmh.Options{Rate: 1e6}, "repeats a part of its list"},
		{"new tokens, no records", endless(func(int) []string { return nil }), oaipmh.Options{Rate: 1e6}, "repeats a part of its list"},
		{"new records without end", endless(func(n int) []string {
			return []string{fmt.Sprintf("%d-%s", n, strings.Repeat("a", 500))}
		}), oaipmh.Options{Rate: 1e6, MaxState: 100_000}, "more than the limit of 100000 bytes"},
		{"a page", respond(200, "<html><body>Our repository</body></html>"), oaipmh.Options{}, "is not an OAI-PMH response: check the address"},
		{"nothing", respond(200, ""), oaipmh.Options{}, "is not an OAI-PMH response: check the address"},
		{"404", respond(404, "no"), oaipmh.Options{}, "answered 404 Not Found: check the address"},
		{"another format", repository, oaipmh.Options{MetadataPrefix: "marc21"}, "cannotDisseminateFormat; its metadata prefixes are oai_dc"},
		{"an endless list", loop, oaipmh.Options{}, "repeats a part of its list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, 0, c.options)
			f.server.Config.Handler = c.handler
			if _, err := f.harvester.Fill(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, expected %q", err, c.want)
			}
			if len(f.uris()) > 0 {
				t.Error("the set is open")
			}
		})
	}
}

// TestStatus422 returns errors of the protocol with another status, as Invenio does.
func TestStatus422(t *testing.T) {
	f := newFixture(t, 30, oaipmh.Options{})
	f.PageSize = 10
	f.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		f.ServeHTTP(rec, r)
		if bytes.Contains(rec.Body.Bytes(), []byte("<error")) {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		w.Write(rec.Body.Bytes())
	})
	f.harvest()
	f.harvest() // noRecordsMatch
	f.compare()
}

// TestTransport has compressed responses and redirects.
func TestTransport(t *testing.T) {
	f := newFixture(t, 30, oaipmh.Options{})
	f.PageSize = 10
	compressed := 0
	f.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oai" {
			http.Redirect(w, r, "/new?"+r.URL.RawQuery, http.StatusFound)
			return
		}
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
		}
		rec := httptest.NewRecorder()
		f.ServeHTTP(rec, r)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(rec.Body.Bytes())
		z.Close()
		compressed++
	})
	f.harvest()
	f.compare()
	if compressed < 4 {
		t.Errorf("%d responses were compressed", compressed)
	}
}

// TestRedirectInside redirects to another internal address, which is not allowed.
func TestRedirectInside(t *testing.T) {
	inside := httptest.NewServer(oaitest.New("https://repo.example", 3, midday))
	defer inside.Close()
	f := newFixture(t, 3, oaipmh.Options{})
	f.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.URL+"/oai?"+r.URL.RawQuery, http.StatusFound)
	})
	if _, err := f.harvester.Fill(t.Context()); err == nil || !strings.Contains(err.Error(), "not public") {
		t.Errorf("the error is %v", err)
	}
}

// TestRepetitions receives records several times in a response, in different states.
func TestRepetitions(t *testing.T) {
	f := newFixture(t, 0, oaipmh.Options{})
	header := `<OAI-PMH><responseDate>2026-01-01T00:00:00Z</responseDate>`
	record := func(status, id, stamp, uri string) string {
		return `<record><header ` + status + `><identifier>` + id + `</identifier><datestamp>` + stamp + `</datestamp></header><metadata><dc><identifier>` + uri + `</identifier></dc></metadata></record>`
	}
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("verb") != "ListRecords" {
			return false
		}
		io.WriteString(w, header+`<ListRecords>`+
			record("", "a", "2026-01-02T00:00:00Z", "https://repo.example/a/new")+
			record("", "a", "2026-01-01T00:00:00Z", "https://repo.example/a/old")+
			record("", "b", "2026-01-01T00:00:00Z", "https://repo.example/b")+
			record(`status="deleted"`, "b", "2026-01-01T00:00:00Z", "")+
			record("", "c", "2026-01-01", "https://repo.example/caf\u00e9 &amp; \x0bbar&#11;")+
			record("", "d", "yesterday", "mailto:me@repo.example")+
			record("", strings.Repeat("long", 500), "", "https://repo.example/long")+
			`</ListRecords></OAI-PMH>`)
		return true
	}
	f.harvest()
	want := []string{"https://repo.example/a/new", "https://repo.example/caf%C3%A9%20&%20%EF%BF%BDbar%EF%BF%BD"}
	if got := f.uris(); !slices.Equal(got, want) {
		t.Errorf("the set has %q, expected %q", got, want)
	}
	if st := f.harvester.Status(); st.Unlisted != 2 {
		t.Errorf("the status is %+v", st)
	}
}
