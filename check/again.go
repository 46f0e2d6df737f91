package check

import (
	"context"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

const (
	// maxAgain is the maximum number of documents that are read twice, and againBytes
	// their maximum size, in bytes.
	maxAgain   = 100
	againBytes = 5_000_000
)

// A once is a document that has been read once.
type once struct {
	uri        string
	validators fetch.Validators
	document   *document
	read       time.Time
}

// remember keeps the hashes for a comparison with a second reading.
func (w *walker) remember(uri string, res *fetch.Document, d *document, read time.Time) {
	if d.complete && len(w.first) < maxAgain && d.bytes <= againBytes && w.options.Pause > 0 {
		w.first = append(w.first, &once{uri, res.Validators, d, read})
	}
}

// again reads documents a second time. Changes of the Source in between are not findings.
func (w *walker) again(ctx context.Context) error {
	for _, o := range w.first {
		w.at(o.uri)
		if err := background.Sleep(ctx, time.Until(o.read.Add(w.options.Pause))); err != nil {
			return err
		}
		res, err := w.client.Document(ctx, o.uri, o.validators)
		if err != nil {
			if err := w.failed(ctx, o.uri, place{document: o.uri}, err, "unreachable", ""); err != nil {
				return err
			}
			continue
		}
		err = w.compare(o, res)
		res.Close()
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// compareNotifications compares the notifications that a topic had at two times. There may have been
// others in between.
func (w *walker) compareNotifications(was, now *document) {
	a, b := &was.head.Metadata, &now.head.Metadata
	if now.capability == was.capability && b.From.Before(a.Until) && b.Until.After(a.Until) {
		w.add("notification-overlap", now.place, "", "from is %s, but an earlier notification had until %s", b.From.Format(time.RFC3339Nano), a.Until.Format(time.RFC3339Nano))
	}
}

// compare compares a document with its first reading.
func (w *walker) compare(o *once, res *fetch.Document) error {
	if res.NotModified {
		return nil
	}
	base, err := url.Parse(res.URL)
	if err != nil {
		return err
	}
	ignored := new(findings) // they are known
	now, err := ignored.read(o.uri, base, res, expectation{}, time.Now(), nil)
	if err != nil {
		return err
	}
	was := o.document
	m := &was.head.Metadata
	here := place{document: o.uri}
	if was.capability == resourcesync.ChangeNotification {
		w.compareNotifications(was, now)
		return nil
	}
	closed := was.capability == resourcesync.ChangeList && !was.head.Index && !m.Until.IsZero()
	switch {
	case now.sum == was.sum:
		if o.validators != (fetch.Validators{}) {
			w.add("no-304", here, "", "the second request, with the validators of the first, was answered with all of the unchanged document")
		}
	case closed && !m.Until.Equal(now.head.Metadata.Until):
		w.add("closed-changed", was.place, "", "the Change List has been closed since %s, but until has changed between two readings", m.Until.Format(time.RFC3339Nano))
	case now.ordered == was.ordered:
		w.add("unstable", here, "", "the document has changed between two readings, although its entries have not")
	case now.unordered == was.unordered && now.entries == was.entries:
		w.add("unstable", here, "", "two readings have the same entries in different orders")
	case closed:
		w.add("closed-changed", was.place, "", "the Change List has been closed since %s, but its entries have changed between two readings", m.Until.Format(time.RFC3339))
	}
	return nil
}
