package oaipmh

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"
)

// A list is the progress of a listing: ListRecords or ListIdentifiers, in one or several
// spans of datestamps.
type list struct {
	// Started is the repository's time when the listing began.
	Started time.Time `json:"started"`

	// From and Until are the inclusive bounds of the span that is being read. Zero
	// stands for none. Span is the length of spans; zero if there is only one.
	From  time.Time     `json:"from"`
	Until time.Time     `json:"until"`
	Span  time.Duration `json:"span,omitempty"`

	Token string `json:"token,omitempty"` // of the next response; empty for the first one

	Records  int64 `json:"records"` // received, with repetitions
	Size     int64 `json:"size,omitempty"`
	Unlisted int64 `json:"unlisted,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"` // approximate size of the records in the state
	Pages    int64 `json:"pages"`           // of this span since its beginning
	Expired  int   `json:"expired"`         // how often tokens have expired, since the last span ended

	// Mark is the digest of an earlier response of this span, and Next the number of
	// the response whose digest replaces it. A repository that repeats itself comes back
	// to the mark (Brent's algorithm). Marked is the digest of its records alone, and
	// Again how often the same records came back with another token.
	Mark   string `json:"mark,omitempty"`
	Marked string `json:"marked,omitempty"`
	Again  int    `json:"again,omitempty"`
	Next   int64  `json:"next,omitempty"`

	Empty int `json:"empty,omitempty"` // responses without records, in a row
}

const (
	// maxRecords is the maximum number of records of a listing: more than any
	// repository has.
	maxRecords = 200_000_000

	// maxExpired is how often the tokens of a listing may expire before a harvest fails.
	// The next one continues.
	maxExpired = 40

	// maxAgain is how often the records of a response may come back with a new token: pages of
	// some repositories overlap when records are added. maxEmpty is the maximum number of
	// responses without records in a row.
	maxAgain = 3
	maxEmpty = 1000

	// earliest is before all datestamps of a repository that does not state its first.
	earliestYear = 1970
)

// recordBytes is the approximate size of a record in the state, besides its identifier and URI.
const recordBytes = 200

var (
	errRepeats  = errors.New("the repository repeats a part of its list without end: its resumption tokens lead back to an earlier one")
	errTooLong  = fmt.Errorf("the list has more than %d records", maxRecords)
	errExpiring = errors.New("the repository's resumption tokens expire before a list can be read, even one of the shortest span: raise --rate, or the lifetime of its tokens")
)

// expire continues after the repository has refused a token: the span begins again. Unless
// the repository ignores until, spans become half as long, so that they end before their
// tokens expire. earliest is before the first datestamp.
func (l *list) expire(earliest, now time.Time, granule time.Duration, noUntil bool) error {
	if l.Expired++; l.Expired > maxExpired {
		l.Expired = 0
		return errExpiring
	}
	l.begin()
	if noUntil {
		return nil
	}
	from, until := l.From, l.Until
	if from.IsZero() {
		from = earliest
	}
	if until.IsZero() {
		until = now
	}
	l.Span = max(until.Sub(from)/2, granule).Truncate(granule)
	if until = from.Add(l.Span); until.Before(now) {
		l.Until = until
	}
	return nil
}

// begin begins the span again.
func (l *list) begin() {
	l.Token, l.Pages, l.Mark, l.Marked, l.Again, l.Next, l.Empty = "", 0, "", "", 0, 0, 0
}

// next begins the next span, and reports false if there is none. The bounds are inclusive, so
// spans overlap. Spans become longer as long as no token expires.
func (l *list) next(now time.Time) bool {
	if l.Until.IsZero() {
		return false
	}
	l.begin()
	l.Expired = 0
	l.Span *= 2
	l.From, l.Until = l.Until, l.Until.Add(l.Span)
	if !l.Until.Before(now) {
		l.Until = time.Time{}
	}
	return true
}

// A page collects the data that identify a response.
type page struct {
	digest  hash.Hash
	records int64
	beyond  bool // a datestamp is later than the span
	before  bool // a datestamp is earlier
}

func newPage() *page { return &page{digest: sha256.New()} }

func (p *page) add(rec *record) {
	p.records++
	p.digest.Write([]byte(rec.identifier))
	p.digest.Write([]byte{0})
}

// advance counts a response with a token that leads on, and reports an error if the
// repository repeats itself.
func (l *list) advance(p *page, res *response) error {
	l.Records += p.records
	l.Size = max(l.Size, res.size)
	l.Pages++
	l.Token = res.token
	if l.Records > maxRecords {
		return errTooLong
	}
	if l.Token == "" {
		return nil
	}
	records := hex.EncodeToString(p.digest.Sum(nil)[:16])
	p.digest.Write([]byte(l.Token))
	digest := hex.EncodeToString(p.digest.Sum(nil)[:16])
	if l.Empty++; p.records > 0 {
		l.Empty = 0
		if records == l.Marked {
			l.Again++
		}
	}
	if digest == l.Mark || l.Again > maxAgain || l.Empty > maxEmpty {
		l.begin()
		return errRepeats
	}
	if l.Pages >= l.Next {
		l.Mark, l.Marked, l.Again, l.Next = digest, records, 0, 2*l.Pages
	}
	return nil
}
