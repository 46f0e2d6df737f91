package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/harvesters"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

const statusTimeout = 10 * time.Second

// A status describes a publication for operators. Values that cannot be read are
// missing, and Problems has the errors.
type status struct {
	Healthy  bool     `json:"healthy"`
	Problems []string `json:"problems,omitempty"`

	// Of the set. If there are several, Files and Changed are those of all.
	setStatus
	Sets []setStatus `json:"sets,omitempty"` // if they have names

	Source     rshttp.Counters `json:"source"`
	Push       *topic.Status   `json:"push,omitempty"`
	Hub        *hub.Status     `json:"hub,omitempty"`
	WebSockets *int            `json:"webSockets,omitempty"` // connected clients

	// Harvesters are those with the newest requests to this process, 100 at most.
	Harvesters []harvesterStatus `json:"harvesters,omitempty"`
}

// A setStatus describes a set for operators.
type setStatus struct {
	Name       string          `json:"name,omitempty"`
	Kind       string          `json:"kind,omitempty"` // of a set with a name
	Files      *int64          `json:"files,omitempty"`
	Uncounted  bool            `json:"uncounted,omitempty"`      // the set does not count its resources
	Changed    time.Time       `json:"changed,omitzero"`         // the time of the newest change
	Scan       *scanStatus     `json:"scan,omitempty"`           // the last complete scan of this process
	Site       *sitemap.Status `json:"site,omitempty"`           // of a website: the contents of its sitemaps, and the age of the oldest check
	Repository *oaipmh.Status  `json:"repository,omitempty"`     // of an OAI-PMH repository
	Held       *heldStatus     `json:"held,omitempty"`           // by the last scan of any process
	Journal    *sqltable.Proof `json:"journal,omitempty"`        // of a table with triggers: how complete its journal is
	Notes      []string        `json:"notes,omitempty"`          // what is no failure, but needs attention
	Pending    *float64        `json:"pendingSeconds,omitempty"` // of a table with triggers: the age of the oldest change that is not in the journal yet
}

// A scanStatus is the result of a complete scan. Its changes include those that have been
// found since, without a complete scan.
type scanStatus struct {
	Ended      time.Time `json:"ended"`
	Seconds    float64   `json:"seconds"` // its duration
	Created    int       `json:"created"`
	Updated    int       `json:"updated"`
	Deleted    int       `json:"deleted"`
	Unchanged  int       `json:"unchanged"`
	Skipped    int64     `json:"skipped"`    // files and folders that could not be read, have too long a name, or are symbolic links
	Unreadable int       `json:"unreadable"` // files that stay listed because they could not be read
}

type harvesterStatus struct {
	harvesters.Harvester

	// Behind is the time between the newest change that it has read and the newest change
	// of the set, in seconds: 0 if it is up to date, nil if unknown.
	Behind *float64 `json:"behindSeconds,omitempty"`
}

// shownHarvesters is the maximum number of harvesters in a status.
const shownHarvesters = 100

type heldStatus struct {
	Files     int64     `json:"files"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"`
	Confirmed bool      `json:"confirmed"`
}

func (p *publication) status(ctx context.Context) status {
	var trouble []error
	s := status{Source: p.source.Counters()}
	for _, m := range p.members {
		now, err := m.status(ctx)
		trouble = append(trouble, err)
		if m.name == "" {
			s.setStatus = now
			break
		}
		s.Sets = append(s.Sets, now)
		s.add(&now)
	}
	if now, err := p.source.PushStatus(ctx); err != nil {
		trouble = append(trouble, err)
	} else if len(now.Topics) > 0 {
		s.Push = &now
	}
	if hub := p.source.Hub(); hub != nil {
		now, err := hub.Status(ctx)
		trouble = append(trouble, err)
		if err == nil {
			s.Hub = &now
		}
	}
	if p.sockets != nil {
		s.WebSockets = new(p.sockets.Clients())
	}
	if p.harvesters != nil {
		for _, h := range p.harvesters.Recent(shownHarvesters) {
			s.Harvesters = append(s.Harvesters, harvesterStatus{h, behind(h.Until, s.Changed)})
		}
	}
	s.Problems = texts(errors.Join(append(trouble, p.health(ctx))...))
	s.Healthy = len(s.Problems) == 0
	return s
}

// status describes the set.
func (m *member) status(ctx context.Context) (setStatus, error) {
	s := setStatus{Name: m.name}
	if m.name != "" {
		s.Kind = m.config.common().kind
	}
	if m.set != nil {
		if r := m.set.Last(); r != nil {
			s.Scan = &scanStatus{r.Ended, r.Took.Seconds(), r.Created, r.Updated, r.Deleted, r.Unchanged, r.Skipped, r.Unreadable}
		}
	}
	set, err := m.stat(ctx)
	switch {
	case err == nil:
		if s.Changed, s.Uncounted = set.LastModified, set.Count < 0; !s.Uncounted {
			s.Files = &set.Count
		}
	case errors.Is(err, resourcesync.ErrNotReady):
		err = nil
	}
	if kept, err := m.stored.Kept(ctx); err == nil && kept.Held > 0 {
		s.Held = &heldStatus{kept.Held, kept.Since, kept.Until, kept.Confirmed}
	}
	if m.content.status != nil {
		m.content.status(&s)
	}
	s.Notes = m.notes()
	return s, m.named(err)
}

// add adds the resources of another set to those of s. Their number is unknown as long as
// that of one set is.
func (s *status) add(other *setStatus) {
	switch {
	case len(s.Sets) == 1:
		s.Files, s.Changed = other.Files, other.Changed
		return
	case s.Files != nil && other.Files != nil:
		s.Files = new(*s.Files + *other.Files)
	default:
		s.Files = nil
	}
	if other.Changed.After(s.Changed) {
		s.Changed = other.Changed
	}
}

// texts returns the texts of the errors that err joins, sorted and without duplicates.
func texts(err error) []string {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	var all []string
	for _, err := range joined.Unwrap() {
		all = append(all, texts(err)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// behind returns how far a reader of the changes up to a time is behind, in seconds.
func behind(read, newest time.Time) *float64 {
	if read.IsZero() || newest.IsZero() {
		return nil
	}
	return new(max(0, newest.Sub(read).Seconds()))
}

// serveStatus serves the status, with 503 if there are problems: as a page to browsers,
// and as JSON to other clients and at statusJSON.
func (p *daemon) serveStatus(w http.ResponseWriter, r *http.Request) {
	if !reqbody.None(w, r) {
		return
	}
	if r.URL.Path != "/" && r.URL.Path != statusJSON {
		http.NotFound(w, r)
		return
	}
	if !isFreshGet(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	now := p.now.Load()
	s := now.status(ctx)
	var body []byte
	var err error
	if r.URL.Path == "/" && strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html") {
		body, err = now.statusPage(&s)
		statusTemplates().SetHeaders(w.Header())
	} else {
		body, err = json.MarshalIndent(s, "", "  ")
		body = append(body, '\n')
		w.Header().Set("Content-Type", "application/json")
	}
	if err != nil {
		panic(err) // the page is tested, and every value can be written as JSON
	}
	w.Header().Set("Vary", "Accept")
	if !s.Healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	w.Write(body)
}

// checkHost has next answer requests for an IP address, for localhost, or for the
// host in listen, the value of --status. A web page can point its own name at an
// address of this computer and read the answers under that name (DNS rebinding); it
// cannot make a browser send one of these.
func checkHost(listen string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(listen) // which is listened to
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostname(r.Host)
		_, notAddress := netip.ParseAddr(host)
		if notAddress == nil || host == "localhost" || own != "" && strings.EqualFold(host, own) {
			next.ServeHTTP(w, r)
			return
		}
		if reqbody.None(w, r) {
			http.Error(w, "The status is not public under this name. Use an IP address, localhost, or the name in --status.", http.StatusMisdirectedRequest)
		}
	})
}

// hostname returns the host in a Host header, without a port, brackets or a dot at
// its end.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
