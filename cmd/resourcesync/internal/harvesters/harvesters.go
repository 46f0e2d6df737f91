// Package harvesters records which clients have recently read the documents of a Source, and
// how far behind they are.
//
// The addresses of clients are personal data. They stay in memory, and in the state if operators
// ask for that, for a limited time, and only operators see them.
package harvesters

import (
	"container/list"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

const (
	// Retention is the time after its last request for which a harvester is remembered.
	Retention = 30 * 24 * time.Hour

	// maxHarvesters is the maximum number of harvesters. Those whose last requests are
	// the oldest are forgotten first.
	maxHarvesters = 1000

	// maxAgents is the maximum number of agents of one address. Further ones share the
	// name OtherAgents, so that one client cannot displace all harvesters.
	maxAgents = 8

	// maxAgent is the maximum length of the name of an agent in characters.
	maxAgent = 160
)

// OtherAgents is the name of further agents of an address that has many.
const OtherAgents = "(other agents)"

// A Harvester is a program that reads documents.
type Harvester struct {
	Agent   string `json:"agent"`   // User-Agent, shortened, without characters that cannot be printed
	Address string `json:"address"` // of IPv6, the first 64 bits

	First    time.Time `json:"first"` // the first request
	Last     time.Time `json:"last"`  // the last request
	Requests uint64    `json:"requests"`
	Bytes    int64     `json:"bytes"` // received

	// Document is the kind of the document that was last requested, Set the name of its
	// set, and Status the status of the answer. See [rshttp.Answer].
	Document string `json:"document"`
	Set      string `json:"set,omitempty"`
	Status   int    `json:"status"`

	// Until is the datetime of the newest change that the harvester has read. It is zero
	// if unknown, such as for a harvester that has read only pages of a Resource List.
	Until time.Time `json:"until,omitzero"`

	// Parts is the number of pages, lists or packages that the harvester has received
	// since it last read the index or dump that lists them.
	Parts int `json:"parts,omitempty"`
}

// A Log remembers harvesters. Its methods are safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	recent *list.List            // of *Harvester; those with the newest requests first
	known  map[key]*list.Element // in recent
	agents map[string]int        // number of agents by address; no value is zero
}

type key struct{ agent, address string }

// New returns an empty Log.
func New() *Log {
	return &Log{recent: list.New(), known: make(map[key]*list.Element), agents: make(map[string]int)}
}

// Observe records an answered request. It ignores pages for people, and requests to the hub other
// than for subscriptions. It is a [rshttp.Options].Observe.
func (l *Log) Observe(a rshttp.Answer) {
	if a.HTML || a.Document == "hub" {
		return
	}
	k := key{clean(a.Request.UserAgent()), client.Of(a.Request)}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.find(k, now)
	h.Last = now
	h.Requests++
	h.Bytes += a.Bytes
	h.Document, h.Set, h.Status = a.Document, a.Set, a.Status
	if a.Until.After(h.Until) {
		h.Until = a.Until
	}
	switch received := a.Complete && a.Request.Method == http.MethodGet && (a.Status == http.StatusOK || a.Status == http.StatusPartialContent); {
	case !received && a.Status != http.StatusNotModified:
	case a.Index || a.Document == "resourcedump" || a.Document == "changedump":
		h.Parts = 0
	case received && isPart(a.Document):
		h.Parts++
	}
}

// isPart reports whether documents of a kind are listed by an index or a dump.
func isPart(document string) bool {
	_, part, _ := strings.Cut(document, "-")
	return part == "page" || part == "window" || part == "package"
}

// find returns the harvester with this key as the most recent one.
func (l *Log) find(k key, now time.Time) *Harvester {
	e := l.known[k]
	if e == nil && l.agents[k.address] >= maxAgents-1 {
		k.agent = OtherAgents
		e = l.known[k]
	}
	if e != nil {
		l.recent.MoveToFront(e)
		return e.Value.(*Harvester)
	}
	h := &Harvester{Agent: k.agent, Address: k.address, First: now}
	l.known[k] = l.recent.PushFront(h)
	l.agents[k.address]++
	l.forget(now)
	return h
}

// forget removes the harvesters that are too old or too many.
func (l *Log) forget(now time.Time) {
	for e := l.recent.Back(); e != nil; e = l.recent.Back() {
		h := e.Value.(*Harvester)
		if l.recent.Len() <= maxHarvesters && (h.Last.IsZero() || now.Sub(h.Last) < Retention) {
			return
		}
		l.recent.Remove(e)
		delete(l.known, key{h.Agent, h.Address})
		if l.agents[h.Address]--; l.agents[h.Address] == 0 {
			delete(l.agents, h.Address)
		}
	}
}

// Recent returns the n harvesters with the newest requests, in this order.
func (l *Log) Recent(n int) []Harvester {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(time.Now())
	all := make([]Harvester, 0, min(n, l.recent.Len()))
	for e := l.recent.Front(); e != nil && len(all) < n; e = e.Next() {
		all = append(all, *e.Value.(*Harvester))
	}
	return all
}

// Len returns the number of harvesters that are remembered.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(time.Now())
	return l.recent.Len()
}

// clean returns the name of an agent as it can be shown anywhere, on a terminal, too.
func clean(agent string) string {
	var b strings.Builder
	n := 0
	for _, r := range agent { // bytes that are not UTF-8 become U+FFFD
		if n++; n > maxAgent {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
