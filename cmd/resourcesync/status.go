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
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

const statusTimeout = 10 * time.Second

// A status describes a publication for operators. Values that cannot be read are
// missing, and Problems has the errors.
type status struct {
	Healthy    bool            `json:"healthy"`
	Problems   []string        `json:"problems,omitempty"`
	Files      *int64          `json:"files,omitempty"`
	Changed    time.Time       `json:"changed,omitzero"` // the time of the newest change
	Scan       *scanStatus     `json:"scan,omitempty"`   // the last complete scan of this process
	Site       *sitemap.Status `json:"site,omitempty"`   // of proxy: the contents of its sitemaps, and the age of the oldest check
	Held       *heldStatus     `json:"held,omitempty"`   // by the last scan of any process
	Source     rshttp.Counters `json:"source"`
	Push       *topic.Status   `json:"push,omitempty"`
	Hub        *hub.Status     `json:"hub,omitempty"`
	WebSockets *int            `json:"webSockets,omitempty"` // connected clients
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

type heldStatus struct {
	Files     int64     `json:"files"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"`
	Confirmed bool      `json:"confirmed"`
}

func (p *publication) status(ctx context.Context) status {
	var trouble []error
	s := status{Source: p.source.Counters()}
	if last := p.scanner.last.Load(); last != nil {
		r := last.result
		s.Scan = &scanStatus{last.ended, last.took.Seconds(), r.Created, r.Updated, r.Deleted, r.Unchanged, last.skip, r.Unreadable}
	}
	set, err := p.set.Stat(ctx, resourcesync.Range{})
	switch {
	case err == nil:
		s.Files, s.Changed = &set.Count, set.LastModified
	case !errors.Is(err, resourcesync.ErrNotReady):
		trouble = append(trouble, err)
	}
	if p.site != nil {
		s.Site = new(p.site.Status())
	}
	if kept, err := p.set.Kept(ctx); err == nil && kept.Held > 0 {
		s.Held = &heldStatus{kept.Held, kept.Since, kept.Until, kept.Confirmed}
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
	s.Problems = texts(errors.Join(append(trouble, p.health(ctx))...))
	s.Healthy = len(s.Problems) == 0
	return s
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

// serveStatus serves the status of p as JSON, with 503 if there are problems.
func (p *publication) serveStatus(w http.ResponseWriter, r *http.Request) {
	if !reqbody.None(w, r) {
		return
	}
	if r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	if !isFreshGet(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	s := p.status(ctx)
	body, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // every value in it can be written as JSON
	}
	w.Header().Set("Content-Type", "application/json")
	if !s.Healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	w.Write(append(body, '\n'))
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
