package rsxml

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestRandomDocuments encodes documents of every kind that the rules know, with
// random values wherever they allow some, and wants a strict decoder to read the
// same.
func TestRandomDocuments(t *testing.T) {
	for doc := range allRules {
		for seed := range uint64(20) {
			g := &generator{rand.New(rand.NewPCG(seed, 0)), allRules[doc]}
			h, entries := g.document(doc)
			data := encode(h, entries)
			gotHead, gotEntries, err := Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%v, seed %d: %v in\n%s", doc, seed, err, data)
			}
			if !reflect.DeepEqual(gotHead, h) || !reflect.DeepEqual(gotEntries, entries) {
				t.Fatalf("%v, seed %d:\n%s\nreads\n%+v\n%+v\nwant\n%+v\n%+v", doc, seed, data, gotHead, gotEntries, h, entries)
			}
		}
	}
}

// A generator makes documents that keep rules.
type generator struct {
	*rand.Rand
	rules *rules
}

func (g *generator) document(doc docType) (Head, []Entry) {
	h := Head{Index: doc.index, Links: g.links()}
	h.Metadata = g.metadata(g.rules.may, g.rules.must)
	h.Metadata.Capability = doc.capability
	last := h.Metadata.From
	var entries []Entry
	for i := range g.IntN(5) {
		e := Entry{Loc: g.uri(), Metadata: g.metadata(g.rules.entryMay|ofResources, g.rules.entryMust), Links: g.links()}
		if g.IntN(2) == 0 {
			e.LastMod = g.time()
		}
		if g.IntN(2) == 0 {
			e.ChangeFreq = "weekly"
		}
		m := &e.Metadata
		switch doc.capability {
		case resourcesync.Description:
			if !doc.index {
				m.Capability = resourcesync.CapabilityList
			}
		case resourcesync.CapabilityList:
			m.Capability = resourcesync.Capability(fmt.Sprint(i, g.text()))
		}
		// What is in order goes on from the entry before. A microsecond at a
		// time does not lead out of the interval of the document.
		if !m.Datetime.IsZero() {
			last = last.Add(time.Duration(g.IntN(1000)))
			m.Datetime = last
		}
		if last.IsZero() {
			last = m.At
		}
		if last.IsZero() {
			last = m.From
		}
		if g.rules.inOrder == at && !m.At.IsZero() {
			m.At = last.Add(time.Duration(g.IntN(1000)))
			last = m.At
			if !m.Completed.IsZero() {
				m.Completed = last.Add(time.Minute)
			}
		}
		if g.rules.inOrder == from && !m.From.IsZero() {
			m.From = last.Add(time.Duration(g.IntN(1000)))
			last = m.From
			if !m.Until.IsZero() {
				m.Until = last.Add(time.Hour)
			}
		}
		entries = append(entries, e)
	}
	return h, entries
}

// metadata returns an rs:md with the attributes in must and some of those in may.
func (g *generator) metadata(may, must attrSet) (m Metadata) {
	set := must | may&attrSet(g.Uint32())
	start := g.time()
	for i := range attrNames {
		switch set & (1 << i) {
		case at:
			m.At = start
		case capability:
			m.Capability = resourcesync.Capability("x" + g.text())
		case change:
			m.Change = []resourcesync.ChangeType{resourcesync.Created, resourcesync.Updated, resourcesync.Deleted}[g.IntN(3)]
		case completed:
			m.Completed = start.Add(time.Minute)
		case datetime:
			m.Datetime = start
		case encoding:
			m.Encoding = []string{"gzip", "br, gzip"}[g.IntN(2)]
		case from:
			m.From = start
		case hash:
			m.Hashes = []resourcesync.Hash{{Algorithm: "md5", Digest: "00"}, {Algorithm: "x", Digest: "0123456789abcdefABCDEF"}}[:1+g.IntN(2)]
		case length:
			m.Length = resourcesync.Bytes(g.Int64() - 1)
		case path:
			m.Path = "/" + g.text()
		case mediaType:
			m.Type = g.mediaType()
		case until:
			m.Until = start.Add(time.Hour)
		}
	}
	m.Attrs = g.attrs()
	return m
}

func (g *generator) links() (links []resourcesync.Link) {
	for range g.IntN(3) {
		links = append(links, resourcesync.Link{
			Rel:      []string{"up", "a.b-1", "urn:rel"}[g.IntN(3)],
			Href:     g.uri(),
			Pri:      g.IntN(maxPri + 1),
			Modified: g.time(),
			Type:     g.mediaType(),
			Encoding: []string{"", "gzip"}[g.IntN(2)],
			Attrs:    g.attrs(),
		})
	}
	return links
}

func (g *generator) attrs() (attrs []resourcesync.Attr) {
	for i := range g.IntN(4) {
		attrs = append(attrs, resourcesync.Attr{
			Space: fmt.Sprintf("urn:%d%s", g.IntN(2), g.text()),
			Name:  fmt.Sprintf("é%d", i),
			Value: g.text(),
		})
	}
	return attrs
}

// text returns any text that XML can express.
func (g *generator) text() string {
	alphabet := []rune("ab09 \t\n\r<>&\"']]-%é日\u0085\u2028\uFFFD\U0001F600")
	text := make([]rune, g.IntN(12))
	for i := range text {
		text[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(text)
}

func (g *generator) mediaType() string {
	return []string{"text/html", "application/a.b+xml", "text/plain; charset=utf-8"}[g.IntN(3)]
}

func (g *generator) uri() string {
	return []string{"https://example.org/?a=1&b='c'", "urn:a", "http://[::1]/%20"}[g.IntN(3)]
}

func (g *generator) time() time.Time {
	digits := []int64{1, 1e3, 1e6, 1e9}[g.IntN(4)]
	return time.Unix(g.Int64N(maxTime-minTime-1e6)+minTime, g.Int64N(1e9)/digits*digits).UTC()
}
