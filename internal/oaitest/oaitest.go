// Package oaitest is an OAI-PMH 2.0 repository for tests, written from the specification: all
// verbs, arguments and errors. It can also do what real repositories do wrong.
package oaitest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Record is a record of a Repository.
type Record struct {
	Identifier  string
	Datestamp   time.Time
	Deleted     bool
	Sets        []string
	Identifiers []string // dc:identifier
	Title       string
}

// A Repository serves records at any path with a query, and a page for each record at other
// paths. Set the fields before the first request.
type Repository struct {
	Granularity   string // stated; YYYY-MM-DDThh:mm:ssZ if empty
	DeletedRecord string // persistent if empty
	PageSize      int    // 100 if zero

	// OnlyDates makes datestamps midnight; IgnoreFrom and IgnoreUntil ignore these
	// arguments; RefuseSeconds refuses them with a time of day.
	OnlyDates, IgnoreFrom, IgnoreUntil, RefuseSeconds bool

	// ListPages is the number of pages after which the token of a list expires, or 0.
	ListPages int

	// Before is called before each request, and has answered it if it returns true.
	Before func(w http.ResponseWriter, r *http.Request) bool

	// Now is the clock.
	Now func() time.Time

	mu       sync.Mutex
	records  []*Record // in the order of their first creation
	index    map[string]*Record
	epoch    int // of valid tokens
	requests []string
}

// New returns a repository with n records, each a minute later than the one before, up to
// end. The page of record I is at base/record/I.
func New(base string, n int, end time.Time) *Repository {
	r := &Repository{Now: time.Now, index: map[string]*Record{}}
	r.Fill(base, n, end)
	return r
}

// Fill adds the records that [New] adds.
func (r *Repository) Fill(base string, n int, end time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range n {
		r.put(Record{
			Identifier:  fmt.Sprintf("oai:repo.example:%d", i+1),
			Datestamp:   end.Add(time.Duration(i-n) * time.Minute),
			Sets:        []string{[]string{"physics", "math:algebra"}[i%2]},
			Identifiers: []string{fmt.Sprintf("doi:10.5555/%d", i+1), fmt.Sprintf("%s/record/%d", base, i+1)},
			Title:       fmt.Sprintf("Record %d", i+1),
		})
	}
}

func (r *Repository) put(rec Record) {
	rec.Datestamp = rec.Datestamp.UTC().Truncate(time.Second)
	if old := r.index[rec.Identifier]; old != nil {
		*old = rec
		return
	}
	r.records = append(r.records, &rec)
	r.index[rec.Identifier] = &rec
}

// Put adds or replaces a record.
func (r *Repository) Put(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(rec)
}

// Get returns a record.
func (r *Repository) Get(identifier string) Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.index[identifier]
}

// Delete deletes records, and keeps them as deleted ones unless DeletedRecord is "no".
func (r *Repository) Delete(identifiers ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range identifiers {
		if rec := r.index[id]; r.DeletedRecord != "no" {
			rec.Deleted, rec.Datestamp = true, r.Now().UTC().Truncate(time.Second)
			continue
		}
		delete(r.index, id)
		r.records = slices.DeleteFunc(r.records, func(rec *Record) bool { return rec.Identifier == id })
	}
}

// Expire makes the repository refuse all tokens that it has given.
func (r *Repository) Expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
}

// Requests returns the queries of the requests since the last call.
func (r *Repository) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.requests
	r.requests = nil
	return out
}

// URIs returns the URIs of the records that are not deleted, in order.
func (r *Repository) URIs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, rec := range r.records {
		if !rec.Deleted {
			out = append(out, rec.Identifiers[len(rec.Identifiers)-1])
		}
	}
	slices.Sort(out)
	return out
}

// ServeHTTP implements [http.Handler].
func (r *Repository) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.RawQuery == "" {
		r.servePage(w, req)
		return
	}
	if r.Before != nil && r.Before(w, req) {
		return
	}
	r.mu.Lock()
	r.requests = append(r.requests, req.URL.RawQuery)
	out := r.answer(req)
	r.mu.Unlock()
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.Write(out)
}

// servePage serves the page of a record.
func (r *Repository) servePage(w http.ResponseWriter, req *http.Request) {
	_, name, _ := strings.Cut(req.URL.Path, "/record/")
	r.mu.Lock()
	rec := r.index["oai:repo.example:"+name]
	r.mu.Unlock()
	if rec == nil || rec.Deleted {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<title>%s</title>\n", rec.Title)
}

// stamp returns the datestamp of a record as text.
func (r *Repository) stamp(rec *Record) string {
	layout := "2006-01-02T15:04:05Z"
	if len(r.granularity()) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	t := rec.Datestamp
	if r.OnlyDates {
		t = t.Truncate(24 * time.Hour)
	}
	return t.Format(layout)
}

func (r *Repository) granularity() string { return cmp.Or(r.Granularity, "YYYY-MM-DDThh:mm:ssZ") }
