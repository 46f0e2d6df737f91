package hub

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sort"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

const (
	// cacheBytes is the maximum total size of the messages in memory.
	cacheBytes = 32 << 20

	// spanMessages and spanBytes limit the messages read from the store at once.
	spanMessages = 64
	spanBytes    = 256 << 10
)

// errFull means that a message cannot be loaded now, because too many are in use.
var errFull = errors.New("hub: too many messages are being delivered")

// A messageCache holds the messages that are being delivered, each once, however many
// subscriptions wait for it. It is limited in bytes, plus one read. Least recently used
// spans are dropped first. While too many messages are in use, loading another one waits.
type messageCache struct {
	store pushlog.Log
	hub   string // the Link to the hub, which is added to those of a message
	limit int

	mu     sync.Mutex
	topics map[string]*topicCache
	lru    list.List // of *span, most recently used first
	bytes  int       // of messages in spans
	strays int       // of messages in use whose span has been dropped
	inUse  int       // of all messages in use
	wakes  uint64    // counts signs of new messages
}

type topicCache struct {
	spans   []*span // in the order of the log, not overlapping
	loading chan struct{}

	// When wakes had the value asked, there was no message after end.
	end   int64
	asked uint64
}

// A span holds the messages of a topic with after < number <= last.
type span struct {
	topic       string
	after, last int64
	messages    []*message
	bytes       int
	users       int
	element     *list.Element
}

// A message is a notification with its headers.
type message struct {
	pushlog.Notification
	header [3][]string // of Content-Type, Link and X-Hub-Message-Id
	users  int
	span   *span // nil if it has been dropped
}

func newMessageCache(store pushlog.Log, hub string, limit int) *messageCache {
	link := string(linkheader.AppendLink(nil, linkheader.Link{Target: hub, Rel: "hub"}))
	return &messageCache{store: store, hub: link, limit: limit, topics: map[string]*topicCache{}}
}

func (s *messageCache) message(n pushlog.Notification) *message {
	links := linkheader.AppendLink(nil, linkheader.Link{Target: n.Topic, Rel: resourcesync.RelSelf})
	if n.CapabilityList != "" {
		links = linkheader.AppendLink(append(links, ", "...), linkheader.Link{Target: n.CapabilityList, Rel: resourcesync.RelResourceSync})
	}
	return &message{Notification: n, header: [3][]string{messageType, {string(links) + ", " + s.hub}, {messageID(&n)}}}
}

// messageType is the Content-Type of notifications (Change Notification 4.1).
var messageType = []string{"application/xml"}

// messageID returns an ID that depends on the topic and the content only, so that a
// subscriber recognizes a repeated delivery.
func messageID(n *pushlog.Notification) string {
	d := sha256.New()
	d.Write([]byte(n.Topic))
	d.Write([]byte{0})
	d.Write(n.Body)
	return hex.EncodeToString(d.Sum(nil)[:16])
}

func (m *message) size() int { return len(m.Body) + 512 }

// woken records that there may be new messages.
func (s *messageCache) woken() {
	s.mu.Lock()
	s.wakes++
	s.mu.Unlock()
}

// next returns the first message of a topic after the number taken, or nil if there is
// none. The caller must put it back after use. If patient, next may return errFull while
// there is still space for others.
func (s *messageCache) next(ctx context.Context, topic string, taken int64, patient bool) (*message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		t := s.topics[topic]
		if t == nil {
			t = &topicCache{asked: s.wakes - 1}
			s.topics[topic] = t
		}
		m, taken := s.find(t, taken)
		if m != nil {
			s.use(m)
			return m, nil
		}
		if taken >= t.end && t.asked == s.wakes {
			return nil, nil
		}
		if t.loading != nil {
			if err := s.wait(ctx, t.loading); err != nil {
				return nil, err
			}
			continue
		}
		if s.inUse > s.limit || patient && s.inUse > s.limit/2 {
			return nil, errFull
		}
		if err := s.load(ctx, topic, t, taken); err != nil {
			return nil, err
		}
	}
}

// upToDate reports whether it is known that there is no message after taken.
func (s *messageCache) upToDate(topic string, taken int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil || t.asked != s.wakes {
		return false
	}
	m, taken := s.find(t, taken)
	return m == nil && taken >= t.end
}

func (s *messageCache) wait(ctx context.Context, loaded chan struct{}) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-loaded:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *messageCache) use(m *message) {
	if m.users == 0 {
		s.inUse += m.size()
	}
	m.users++
	m.span.users++
}

func (s *messageCache) put(m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.users--
	if m.users == 0 {
		s.inUse -= m.size()
	}
	if m.span != nil {
		m.span.users--
	} else if m.users == 0 {
		s.strays -= m.size()
	}
}

// find returns the message after taken if it is in a span. Otherwise there is no message up
// to the number that it returns.
func (s *messageCache) find(t *topicCache, taken int64) (*message, int64) {
	i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].last > taken })
	for ; i < len(t.spans) && t.spans[i].after <= taken; i++ {
		sp := t.spans[i]
		j := sort.Search(len(sp.messages), func(j int) bool { return sp.messages[j].Number > taken })
		if j < len(sp.messages) {
			s.lru.MoveToFront(sp.element)
			return sp.messages[j], taken
		}
		taken = sp.last // numbers have gaps
	}
	return nil, taken
}

// load reads the messages after taken. It reads one span of a topic at a time, because most
// callers need the same one.
func (s *messageCache) load(ctx context.Context, topic string, t *topicCache, taken int64) error {
	asked, loaded := s.wakes, make(chan struct{})
	t.loading = loaded
	s.mu.Unlock()
	ms, err := s.store.Read(ctx, topic, taken, spanMessages, spanBytes)
	s.mu.Lock()
	t.loading = nil
	close(loaded)
	if err != nil {
		return err
	}
	if len(ms) == 0 {
		t.end, t.asked = taken, asked
		return nil
	}
	s.keep(topic, t, taken, ms)
	return nil
}

// keep adds ms, the messages after taken, to the span that ends there or as a new span, and
// makes space for them.
func (s *messageCache) keep(topic string, t *topicCache, taken int64, ms []pushlog.Notification) {
	i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].last > taken })
	last := ms[len(ms)-1].Number
	if i < len(t.spans) && t.spans[i].after < last {
		last = t.spans[i].after
		if ms[0].Number > last { // there are no messages in between
			t.spans[i].after = taken
			return
		}
	}
	var sp *span
	if i > 0 && t.spans[i-1].last == taken && len(t.spans[i-1].messages) < spanMessages && t.spans[i-1].bytes < spanBytes {
		sp = t.spans[i-1]
		s.lru.MoveToFront(sp.element)
	} else {
		sp = &span{topic: topic, after: taken}
		sp.element = s.lru.PushFront(sp)
		t.spans = slices.Insert(t.spans, i, sp)
	}
	sp.last = last
	for _, m := range ms {
		if m.Number > last {
			break
		}
		kept := s.message(m)
		kept.span = sp
		sp.messages = append(sp.messages, kept)
		sp.bytes += kept.size()
		s.bytes += kept.size()
	}
	s.makeRoom(sp)
}

// makeRoom drops spans, least recently used first, but never newest. It prefers spans
// without messages in use, because dropping those frees all of their memory.
func (s *messageCache) makeRoom(newest *span) {
	for _, inUse := range []bool{false, true} {
		for e := s.lru.Back(); e != nil && s.bytes+s.strays > s.limit; {
			sp := e.Value.(*span)
			e = e.Prev()
			if sp != newest && (inUse || sp.users == 0) {
				s.drop(sp)
			}
		}
	}
}

func (s *messageCache) drop(sp *span) {
	s.lru.Remove(sp.element)
	t := s.topics[sp.topic]
	t.spans = slices.DeleteFunc(t.spans, func(o *span) bool { return o == sp })
	s.bytes -= sp.bytes
	for _, m := range sp.messages {
		m.span = nil
		if m.users > 0 {
			s.strays += m.size()
		}
	}
}
