// Package harvesters records which clients have recently read the documents of a Source, and
// how far behind they are.
//
// The addresses of clients are personal data. They stay in memory, and in the state if operators
// ask for that, for a limited time, and only operators see them.
package harvesters

import (
	"container/list"
	"hash/maphash"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/internal/copyname"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

const (
	// Retention is the time for which a harvester is remembered after its last request.
	Retention = 30 * 24 * time.Hour

	// maxHarvesters is the maximum number of harvesters. Those whose last requests are
	// the oldest are forgotten first.
	maxHarvesters = 1000

	// maxAgents is the maximum number of agents of one address. Further ones share the
	// name OtherAgents, so that one client cannot displace all harvesters.
	maxAgents = 8

	// maxProgresses is the maximum number of sets whose reading is remembered, of all harvesters.
	maxProgresses = 4 * maxHarvesters

	// maxAgent is the maximum length of the name of an agent in characters.
	maxAgent = 160
)

// OtherAgents is the name of further agents of an address that has many.
const OtherAgents = "(other agents)"

// A Harvester is a program that reads documents.
type Harvester struct {
	Agent   string `json:"agent"`          // User-Agent, shortened, without characters that cannot be printed
	Name    string `json:"name,omitempty"` // of a copy, in its User-Agent
	Address string `json:"address"`        // of IPv6, the first 64 bits

	// NameFirstAt is the address that used the Name before this one, if another did.
	NameFirstAt string `json:"nameFirstAt,omitempty"`

	First    time.Time `json:"first"` // the first request
	Last     time.Time `json:"last"`  // the last request
	Requests uint64    `json:"requests"`
	Bytes    int64     `json:"bytes"` // received

	// Document is the kind of the document that was last requested, Set the name of its
	// set, and Status the status of the answer. See [rshttp.Answer].
	Document string `json:"document"`
	Set      string `json:"set,omitempty"`
	Status   int    `json:"status"`

	// Until is the latest Until of the sets. Sets has the progress in each.
	Until time.Time   `json:"until,omitzero"`
	Sets  []*Progress `json:"sets,omitempty"`

	// Parts is the number of pages, lists or packages that the harvester has received
	// since it last read the index or dump that lists them.
	Parts int `json:"parts,omitempty"`

	subscriptions []subscription // whose requests it has sent
	key           key
	saved         bool // in the state
}

// A Log remembers harvesters. Its methods are safe for concurrent use.
type Log struct {
	mu          sync.Mutex
	recent      *list.List                     // of *Harvester; those with the newest requests first
	known       map[key]*list.Element          // in recent
	agents      map[string]int                 // number of agents by address; no value is zero
	subscribers map[subscription]*list.Element // in recent
	progresses  int                            // of all harvesters
	newest      map[string]*timeline           // by set
	seed        maphash.Seed

	// Shorten makes addresses shorter: IPv4 to 24 bits, IPv6 to 48. It is set before use.
	Shorten bool

	changed map[key]bool // since the last save
	gone    map[key]bool // forgotten, but still in the state
}

// A key identifies a harvester: by its name, or by its agent if it has none, and its address.
type key struct{ who, address string }

func newKey(name, agent, address string) key {
	if name != "" {
		return key{copyname.Add("", name), address}
	}
	return key{agent, address}
}

// New returns an empty Log.
func New() *Log {
	return &Log{
		recent: list.New(), known: make(map[key]*list.Element), agents: make(map[string]int),
		subscribers: make(map[subscription]*list.Element), newest: make(map[string]*timeline), seed: maphash.MakeSeed(),
		changed: make(map[key]bool), gone: make(map[key]bool),
	}
}

// Observe records an answered request. It ignores pages for people, and requests to the hub other
// than for subscriptions. It is a [rshttp.Options].Observe.
func (l *Log) Observe(a rshttp.Answer) {
	if a.HTML || a.Document == "hub" && a.Status != http.StatusAccepted {
		return
	}
	agent, name, address := clean(a.Request.UserAgent()), copyname.In(a.Request.UserAgent()), client.Of(a.Request)
	if l.Shorten {
		address = shortened(address)
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.find(agent, name, address, now)
	h.Last = now
	l.changed[h.key] = true
	h.Requests++
	h.Bytes += a.Bytes
	h.Document, h.Set, h.Status = a.Document, a.Set, a.Status
	if a.Document == "hub" {
		l.subscribe(h, a.Request.Form)
		return
	}
	switch received := a.Complete && a.Request.Method == http.MethodGet && (a.Status == http.StatusOK || a.Status == http.StatusPartialContent); {
	case !received && a.Status != http.StatusNotModified:
	case a.Index || a.Document == "resourcedump" || a.Document == "changedump":
		h.Parts = 0
	case received && isPart(a.Document):
		h.Parts++
	}
	if a.Request.Method == http.MethodGet && (a.Status == http.StatusNotModified || a.Complete && a.Status < 300) && (!a.Until.IsZero() || hasResources(a.Document)) {
		l.progress(h, a.Set).read(l.seed, &a, now.Add(-a.Duration))
		h.Until = later(h.Until, a.Until)
	}
}

// hasResources reports whether documents of a kind have resources of a set.
func hasResources(document string) bool {
	return document == "resourcelist" || document == "resourcelist-page" || document == "resourcedump-package"
}

// progress returns the progress of h in a set. If there are too many, the harvesters whose last
// requests are the oldest lose theirs.
func (l *Log) progress(h *Harvester, set string) *Progress {
	for _, p := range h.Sets {
		if p.Set == set {
			return p
		}
	}
	p := &Progress{Set: set}
	h.Sets = append(h.Sets, p)
	l.progresses++
	for e := l.recent.Back(); e != nil && l.progresses > maxProgresses; e = e.Prev() {
		if old := e.Value.(*Harvester); old != h {
			l.progresses -= len(old.Sets)
			old.Sets = nil
			l.changed[old.key] = true
		}
	}
	return p
}

// isPart reports whether documents of a kind are listed by an index or a dump.
func isPart(document string) bool {
	_, part, _ := strings.Cut(document, "-")
	return part == "page" || part == "window" || part == "package"
}

// find returns a harvester as the most recent one.
func (l *Log) find(agent, name, address string, now time.Time) *Harvester {
	k := newKey(name, agent, address)
	e := l.known[k]
	if e == nil && l.agents[address] >= maxAgents-1 {
		agent, name = OtherAgents, ""
		k = newKey(name, agent, address)
		e = l.known[k]
	}
	if e != nil {
		l.recent.MoveToFront(e)
		h := e.Value.(*Harvester)
		h.Agent = agent
		return h
	}
	h := &Harvester{Agent: agent, Name: name, Address: address, First: now, key: k}
	l.known[k] = l.recent.PushFront(h)
	l.agents[address]++
	l.forget(now)
	return h
}

// shortened returns the first 24 bits of an IPv4 address, or the first 48 of an IPv6 network.
func shortened(address string) string {
	p, err := netip.ParsePrefix(address)
	if err != nil {
		a, err := netip.ParseAddr(address)
		if err != nil {
			return address
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	bits := 48
	if p.Addr().Is4() {
		bits = 24
	}
	return netip.PrefixFrom(p.Addr(), bits).Masked().String()
}

// forget removes the harvesters that are too old or too many.
func (l *Log) forget(now time.Time) {
	for e := l.recent.Back(); e != nil; e = l.recent.Back() {
		h := e.Value.(*Harvester)
		if l.recent.Len() <= maxHarvesters && (h.Last.IsZero() || now.Sub(h.Last) < Retention) {
			return
		}
		l.recent.Remove(e)
		l.progresses -= len(h.Sets)
		for _, s := range h.subscriptions {
			delete(l.subscribers, s)
		}
		delete(l.known, h.key)
		delete(l.changed, h.key)
		if h.saved {
			l.gone[h.key] = true
		}
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
	first := make(map[string]*Harvester) // by name
	for e := l.recent.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*Harvester); h.Name != "" && (first[h.Name] == nil || h.First.Before(first[h.Name].First)) {
			first[h.Name] = h
		}
	}
	all := make([]Harvester, 0, min(n, l.recent.Len()))
	for e := l.recent.Front(); e != nil && len(all) < n; e = e.Next() {
		h := e.Value.(*Harvester)
		c := h.copied()
		if of := first[h.Name]; of != nil && of != h {
			c.NameFirstAt = of.Address
		}
		all = append(all, c)
	}
	return all
}

// copied returns a copy of h for others.
func (h *Harvester) copied() Harvester {
	c := *h
	c.Sets = make([]*Progress, len(h.Sets))
	for i, p := range h.Sets {
		c.Sets[i] = &Progress{Set: p.Set, Until: p.Until, Proven: p.Proven}
	}
	return c
}

// Len returns the number of harvesters that are remembered.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(time.Now())
	return l.recent.Len()
}

// clean returns the name of an agent so that it can be shown anywhere, including on a
// terminal.
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
