package rshttp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"time"
)

// knownFormat says how a known is written. What was written in another way is
// taken as unknown: everything is told again as new.
const knownFormat = 1

// A known is what the newest Framework Notification of a channel knew of the
// documents. It is small however many documents there are.
type known struct {
	Format         int           `json:"format"`
	Description    string        `json:"description,omitempty"`    // a digest
	CapabilityList string        `json:"capabilitylist,omitempty"` // a digest
	ResourceList   *knownPages   `json:"resourcelist,omitempty"`
	ResourceDump   *knownPages   `json:"resourcedump,omitempty"`
	Journal        *knownJournal `json:"journal,omitempty"`
	ChangeList     *knownWindows `json:"changelist,omitempty"`
	ChangeDump     *knownWindows `json:"changedump,omitempty"`
}

// knownPages is what was known of documents that are ranges of keys.
type knownPages struct {
	State string `json:"state,omitempty"` // of what no page tells
	Pages string `json:"pages"`           // marks, in order
}

// knownJournal is how far a journal was.
type knownJournal struct {
	Version string    `json:"version,omitempty"`
	Newest  time.Time `json:"newest,omitzero"` // of its changes
}

// knownWindows is what was known of documents that are windows of a journal.
type knownWindows struct {
	Index bool      `json:"index,omitempty"`
	Open  time.Time `json:"open"` // where the open window begins
}

func parseKnown(s string) known {
	var k known
	if json.Unmarshal([]byte(s), &k) != nil || k.Format != knownFormat {
		return known{Format: knownFormat}
	}
	return k
}

// text writes k. It fails for times in years that have more than four digits.
func (k *known) text() (string, error) {
	b, err := json.Marshal(k)
	return string(b), err
}

// A page is a document that is a range of keys: one of an index, or the only one.
type page struct {
	part  string    // "" for the only one
	state string    // of what it shows, as far as that is known
	at    time.Time // of its newest change; zero if unknown
}

// A mark stands for a page: half of it for its name, and half for its state.
const markSize = 8

func (p *page) mark() string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, p.part)
	name := short(h.Sum64())
	_, _ = io.WriteString(h, " "+p.state)
	return name + short(h.Sum64())
}

// short writes 24 bits of a hash.
func short(sum uint64) string {
	sum ^= sum >> 24
	return base64url.EncodeToString([]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// mark takes down pages. Of more than max pages only a digest is kept.
func mark(pages []page, state string, max int) *knownPages {
	var b strings.Builder
	for i := range pages {
		b.WriteString(pages[i].mark())
	}
	k := &knownPages{state, b.String()}
	if len(pages) > max {
		k = &knownPages{State: digestOf(state, k.Pages)}
	}
	return k
}

// news returns the pages that are new since k, and those that have changed. If all
// that is known is that something has, that is the last page.
func (k *knownPages) news(pages []page, now *knownPages) (created, updated []page) {
	if k == nil {
		return pages, nil
	}
	if *k == *now {
		return nil, nil
	}
	if k.Pages != "" && now.Pages != "" {
		old := make(map[string]bool, len(k.Pages)/(markSize/2)) // marks, and their names
		for rest := k.Pages; len(rest) >= markSize; rest = rest[markSize:] {
			old[rest[:markSize]], old[rest[:markSize/2]] = true, true
		}
		for i, p := range pages {
			switch m := now.Pages[i*markSize:][:markSize]; {
			case !old[m[:markSize/2]]:
				created = append(created, p)
			case !old[m]:
				updated = append(updated, p)
			}
		}
	}
	if len(created)+len(updated) == 0 {
		updated = pages[len(pages)-1:]
	}
	return created, updated
}

// digestOf returns a digest of text.
func digestOf(text ...string) string {
	h := sha256.New()
	for _, s := range text {
		_, _ = io.WriteString(h, strconv.Itoa(len(s))+" "+s)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
