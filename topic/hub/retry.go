package hub

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/outgoing"
	"github.com/resourcesync-go/resourcesync/internal/retry"
)

// maxRetry is the maximum time between two attempts.
const maxRetry = 6 * time.Hour

// refusedTime is the time for which a subscriber must refuse a message until the hub sends
// the next one instead (WebSub, section 7), and the maximum time between attempts after
// that. If the subscriber accepts the next one, the message itself was the reason. If not,
// nothing is skipped: a callback that refuses everything for some hours, perhaps because
// the site behind it is moving, loses nothing.
const refusedTime = time.Hour

// refuses reports whether an answer with this status refuses the message itself: a 4xx that
// does not ask for credentials or for another attempt.
func refuses(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusGone, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status <= 499
}

// failed records a failure, and gives m up after GiveUp.
func (d *deliverer) failed(c *claim, m *outgoing.Message, a attempt, wrong string, now time.Time) {
	p := &c.sub.Progress
	p.Fail(now, wrong)
	p.Retry = now.Add(retry.Policy{First: d.hub.options.Retry, Max: maxRetry}.Wait(p.Failures, a.after))
	about := append(d.about(c, m.Number), slog.Int("failures", p.Failures), slog.String("error", wrong))
	if now.Sub(p.FailingSince) >= d.hub.options.GiveUp {
		d.giveUp(c, m.Number, "hub: a message is given up; the Change List has its changes", about)
		p.Pass(m.Number)
		p.LastError = wrong
		return
	}
	noteRefusal(p, a, now)
	about = append(about, slog.Time("next", p.Retry))
	if p.Failures == 1 {
		d.hub.sparse.Log(context.Background(), d.hub.log, slog.LevelInfo, "hub: a delivery has failed", about...)
	} else {
		d.hub.log.LogAttrs(context.Background(), slog.LevelDebug, "hub: a delivery has failed again", about...)
	}
}

// noteRefusal records in p whether its message is refused, and since when. The next attempt is
// no later than the time at which the successor of the message may be sent.
func noteRefusal(p *pushlog.Progress, a attempt, now time.Time) {
	if !refuses(a.status) {
		p.RefusedSince = time.Time{}
		return
	}
	if p.RefusedSince.IsZero() {
		p.RefusedSince = now
	}
	next := p.RefusedSince.Add(refusedTime)
	if !next.After(now) {
		next = now.Add(refusedTime)
	}
	if a.after == 0 && next.Before(p.Retry) {
		p.Retry = next
	}
}

// giveUp counts a message that will not be sent again.
func (d *deliverer) giveUp(c *claim, number int64, text string, about []slog.Attr) {
	p := &c.sub.Progress
	p.GivenUp, p.LastGivenUp = p.GivenUp+1, number
	d.hub.deliveryTotals.Count(func(n *Deliveries) { n.GivenUp++ })
	d.hub.sparse.Log(context.Background(), d.hub.log, slog.LevelWarn, text, about...)
}
