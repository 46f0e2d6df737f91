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
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const statusTimeout = 10 * time.Second

func (p *publication) status(ctx context.Context) status.Status {
	var trouble []error
	s := status.Status{Source: p.source.Counters()}
	for _, m := range p.members {
		now, err := m.status(ctx)
		trouble = append(trouble, err)
		if m.name == "" {
			s.Set = now
			break
		}
		s.Sets = append(s.Sets, now)
		s.Add(&now)
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
		for _, h := range p.harvesters.Recent(status.ShownHarvesters) {
			s.Harvesters = append(s.Harvesters, status.Harvester{Harvester: h, Behind: status.Behind(h.Until, s.Changed)})
		}
	}
	s.Problems = texts(errors.Join(append(trouble, p.health(ctx))...))
	s.Healthy = len(s.Problems) == 0
	return s
}

// status describes the set.
func (m *member) status(ctx context.Context) (status.Set, error) {
	s := status.Set{Name: m.name}
	if m.name != "" {
		s.Kind = m.config.common().kind
	}
	if m.set != nil {
		if r := m.set.Last(); r != nil {
			s.Scan = &status.Scan{
				Ended: r.Ended, Seconds: r.Took.Seconds(), Created: r.Created, Updated: r.Updated, Deleted: r.Deleted, Unchanged: r.Unchanged,
				Skipped: r.Skipped, Unreadable: r.Unreadable,
			}
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
		s.Held = &status.Held{Files: kept.Held, Since: kept.Since, Until: kept.Until, Confirmed: kept.Confirmed}
	}
	if m.content.status != nil {
		m.content.status(&s)
	}
	s.Notes = m.notes()
	return s, m.named(err)
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

// serveStatus serves the status, with 503 if there are problems: as a page to browsers,
// and as JSON to other clients and at statusJSON.
func (p *daemon) serveStatus(w http.ResponseWriter, r *http.Request) {
	if !reqbody.None(w, r) {
		return
	}
	if r.URL.Path != "/" && r.URL.Path != status.JSON {
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
		body, err = s.Page(now.base.Host, home(now.source), p.harvesters != nil)
		status.Templates().SetHeaders(w.Header())
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
