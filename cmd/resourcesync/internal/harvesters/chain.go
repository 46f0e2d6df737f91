package harvesters

import (
	"hash/maphash"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A Progress is the part of a set that a harvester has read.
type Progress struct {
	Set string `json:"set,omitempty"`

	// Until is the datetime of the newest change in any document that it has read. It is zero if
	// unknown, such as for a harvester that has read only pages of a Resource List.
	Until time.Time `json:"until,omitzero"`

	// Proven is the datetime of the newest change that it must have. It has read the change in an
	// unbroken chain of complete documents, from a Resource List on, or its callback has accepted
	// the notification.
	Proven time.Time `json:"proven,omitzero"`

	// The chain goes up to a time. Intervals that were read beyond a gap wait until the gap is
	// closed.
	chain   time.Time
	atList  bool // the chain has no changes yet
	waiting []interval

	list listReading
}

// An interval has been read: the changes after from up to until, the newest at last.
type interval struct{ from, until, last time.Time }

// listReading has the ranges of keys that have been read of a Resource List or Resource Dump since
// it began.
type listReading struct {
	began  time.Time
	ranges []keyRange
}

// A keyRange has the hashes of its ends.
type keyRange struct{ from, to uint64 }

const (
	// maxRanges and maxWaiting bound the memory of a Progress. A harvester that reads in order, or
	// a few documents at a time, needs less.
	maxRanges  = 64
	maxWaiting = 8

	// listMargin is the time that a change may take to appear in a Resource List. A window that
	// begins in it may lack a change that the list lacks, too. A list of the whole journal does not.
	listMargin = time.Minute
)

// read records a document that the harvester has now, and began to read at a time.
func (p *Progress) read(seed maphash.Seed, a *rshttp.Answer, began time.Time) {
	if a.Until.After(p.Until) {
		p.Until = a.Until
	}
	if a.Index || a.Status == http.StatusPartialContent {
		return // a part of a package proves nothing
	}
	switch a.Document {
	case "resourcelist":
		p.restart(began)
	case "resourcelist-page", "resourcedump-package":
		p.page(seed, a.Keys, began)
	case "changelist", "changelist-window", "changelist-recent", "changedump-package":
		iv := interval{a.Changes.From, a.Changes.Until, a.Until}
		if a.Document == "changelist" && p.atList {
			iv.from = iv.from.Add(-listMargin)
		}
		if a.Changes.Open() {
			iv.until = iv.last // later ones are in the same document, or in the next one
		}
		p.changes(iv)
	}
}

// restart begins the chain again at a complete list, whose reading began at a time.
func (p *Progress) restart(began time.Time) {
	p.list = listReading{}
	if at := began.Add(-listMargin); at.After(p.chain) {
		p.chain, p.atList, p.waiting = at, true, nil
	}
}

// page records a range of keys. If all have been read, the chain begins again.
func (p *Progress) page(seed maphash.Seed, keys resourcesync.Range, began time.Time) {
	r := keyRange{maphash.String(seed, "from "+keys.From), maphash.String(seed, "from "+keys.To)}
	first, last := maphash.String(seed, "from "), maphash.String(seed, "end")
	if keys.To == "" {
		r.to = last
	}
	l := &p.list
	for _, known := range l.ranges {
		if known.from == r.from && known.to != r.to { // the list is divided in another way, or read again
			*l = listReading{}
			break
		}
	}
	if len(l.ranges) == 0 {
		l.began = began
	}
	kept := l.ranges[:0]
	for _, known := range l.ranges {
		switch {
		case known.to == r.from:
			r.from = known.from
		case known.from == r.to:
			r.to = known.to
		case known != r:
			kept = append(kept, known)
		}
	}
	l.ranges = append(kept, r)
	switch {
	case r.from == first && r.to == last:
		p.restart(l.began)
	case len(l.ranges) > maxRanges:
		*l = listReading{}
	}
}

// changes extends the chain by an interval, or keeps the interval for later.
func (p *Progress) changes(iv interval) {
	if p.chain.IsZero() {
		return
	}
	if iv.from.After(p.chain) {
		if p.waiting = append(p.waiting, iv); len(p.waiting) > maxWaiting {
			p.waiting = p.waiting[1:]
		}
		return
	}
	p.prove(iv)
	for again := true; again; {
		again = false
		kept := p.waiting[:0]
		for _, w := range p.waiting {
			if w.from.After(p.chain) {
				kept = append(kept, w)
				continue
			}
			p.prove(w)
			again = true
		}
		p.waiting = kept
	}
}

func (p *Progress) prove(iv interval) {
	p.atList = false
	p.chain, p.Proven = later(p.chain, iv.until), later(p.Proven, iv.last)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
