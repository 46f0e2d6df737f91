package prometheus

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

var (
	descNotifications = desc("notifications_total", "Notifications that this process has added to the log.")
	descPublished     = desc("published_changes_total", "Changes in the notifications that this process has added to the log.")
	descUntil         = desc("channel_until_timestamp_seconds", "Time up to which the changes of a set are published on its channel.", "set", "channel")

	descHubAccepted = desc("hub_notifications_total", "Notifications that a remote hub has accepted or that were given up.", "channel", "set", "hub")
	descHubBehind   = desc("hub_notifications_behind", "Notifications in the log that a remote hub has not accepted.", "channel", "set", "hub")
	descHubFailures = desc("hub_failures", "Failed attempts since the last success of a remote hub.", "channel", "set", "hub")
	descHubFailing  = desc("hub_failing_seconds", "Time since a remote hub last began to fail; 0 if the last attempt succeeded.", "channel", "set", "hub")
	descHubRefused  = desc("hub_refused_total", "Notifications that a remote hub has permanently refused.", "channel", "set", "hub")
	descHubLost     = desc("hub_lost_total", "Notifications that retention has dropped before a remote hub accepted them.", "channel", "set", "hub")

	descSubscriptions = desc("subscriptions", "Subscriptions at the Source's own hub, in all processes, that have not expired.")
	descWaiting       = desc("subscriptions_waiting", "Subscriptions that have not accepted the newest notification of their topic.")
	descFailing       = desc("subscriptions_failing", "Subscriptions whose last delivery failed.")
	descOutbox        = desc("outbox_age_seconds", "Age of the oldest notification that waits for a subscriber; 0 if none waits.")
	descDeliveries    = desc("deliveries_total", "Deliveries to subscribers by this process, by their results.", "result")
	descRetried       = desc("deliveries_retried_total", "Deliveries that were attempted again.")
	descGivenUp       = desc("deliveries_given_up_total", "Notifications that were given up, counted for each subscriber.")
	descHubRequests   = desc("hub_requests_total", "Requests to subscribe and to unsubscribe, by their results.", "result")
)

// A pushStatus is the status of the channels and of the Source's own hub.
type pushStatus struct {
	channels topic.Status
	own      *hub.Status // nil if the Source has no hub, or its status cannot be read
}

// restRatio is the minimum time between two readings of the status, in durations of a
// reading: the hub reads all subscriptions, and scrapes must not keep a database busy.
const restRatio = 50

// maxRest is the longest time between two readings.
const maxRest = time.Minute

// collect sends the status of push. Counters are as of the last reading.
func (c *pushCache) collect(ctx context.Context, out chan<- prometheus.Metric, src *rshttp.Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if started := time.Now(); !started.Before(c.until) {
		c.now = readPush(ctx, src)
		now := time.Now()
		c.until = now.Add(min(restRatio*now.Sub(started), maxRest))
	}
	collectChannels(out, c.now.channels)
	if c.now.own != nil {
		collectHub(out, c.now.own)
	}
}

func readPush(ctx context.Context, src *rshttp.Source) (now pushStatus) {
	// Health reports the errors of the log.
	now.channels, _ = src.PushStatus(ctx)
	if h := src.Hub(); h != nil {
		if st, err := h.Status(ctx); err == nil {
			now.own = &st
		}
	}
	return now
}

func collectChannels(out chan<- prometheus.Metric, s topic.Status) {
	if len(s.Topics) == 0 {
		return
	}
	count(out, descNotifications, s.Counters.Notifications)
	count(out, descPublished, s.Counters.Changes)
	for _, t := range s.Topics {
		sendTime(out, descUntil, t.Until, t.Set, string(t.Capability))
		for host, h := range byHost(t.Hubs) {
			labels := []string{string(t.Capability), t.Set, host}
			count(out, descHubAccepted, h.Taken, labels...)
			count(out, descHubRefused, h.Refused, labels...)
			count(out, descHubLost, h.Lost, labels...)
			send(out, descHubBehind, float64(h.Behind), labels...)
			send(out, descHubFailures, float64(h.Failures), labels...)
			send(out, descHubFailing, age(h.FailingSince), labels...)
		}
	}
}

// byHost returns the status of the hubs on each host. Several hubs on a host count as one,
// whose counters are their sums.
func byHost(hubs []topic.HubStatus) map[string]topic.HubStatus {
	all := make(map[string]topic.HubStatus, len(hubs))
	for _, h := range hubs {
		host := ""
		if u, err := url.Parse(h.Hub); err == nil {
			host = u.Host
		}
		sum := all[host]
		sum.Taken += h.Taken
		sum.Refused += h.Refused
		sum.Lost += h.Lost
		sum.Behind = max(sum.Behind, h.Behind)
		sum.Failures = max(sum.Failures, h.Failures)
		if h.Failures > 0 && (sum.FailingSince.IsZero() || h.FailingSince.Before(sum.FailingSince)) {
			sum.FailingSince = h.FailingSince
		}
		all[host] = sum
	}
	return all
}

func collectHub(out chan<- prometheus.Metric, s *hub.Status) {
	send(out, descSubscriptions, float64(s.Subscriptions-s.Expired))
	send(out, descWaiting, float64(s.Waiting))
	send(out, descFailing, float64(s.Failing))
	send(out, descOutbox, age(s.OldestWaiting))
	for result, n := range map[string]int64{
		"delivered":  s.Deliveries.Delivered,
		"redirected": s.Deliveries.Redirected,
		"refused":    s.Deliveries.Refused,
		"failed":     s.Deliveries.Failed,
		"unanswered": s.Deliveries.Unanswered,
	} {
		count(out, descDeliveries, n, result)
	}
	count(out, descRetried, s.Deliveries.Retried)
	count(out, descGivenUp, s.Deliveries.GivenUp)
	for result, n := range map[string]int64{
		"accepted":   s.Requests.Accepted,
		"refused":    s.Requests.Refused,
		"limited":    s.Requests.Limited,
		"verified":   s.Requests.Verified,
		"unverified": s.Requests.Unverified,
		"denied":     s.Requests.Denied,
	} {
		count(out, descHubRequests, n, result)
	}
}

// age returns the seconds since t, or 0 if t is zero.
func age(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Since(t).Seconds())
}
