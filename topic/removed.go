package topic

import (
	"context"
	"log/slog"
)

// removed announces the end of removed sets, on framework topics that are in the
// outbox but have no channel any more. It returns the senders to their hubs. Of a hub
// that no channel uses, only the URI is known: it gets the notification by POST and
// without a token.
func (p *Publisher) removed(ctx context.Context) ([]*sender, error) {
	if p.options.Removed == nil {
		return nil, nil
	}
	queues, err := p.outbox.Queues(ctx)
	if err != nil {
		return nil, err
	}
	var senders []*sender
	for _, q := range queues {
		if p.topics[q.Topic] != nil {
			continue
		}
		last, err := p.end(ctx, q.Topic)
		if err != nil {
			return nil, err
		}
		if last == 0 {
			continue
		}
		h := p.hub(q.Hub)
		if h == nil && q.Taken < last {
			p.log.LogAttrs(ctx, slog.LevelInfo, "topic: a removed set is announced to a hub that no channel uses any more, as if it needed neither a token nor Ping",
				slog.String("topic", redact(q.Topic)), slog.String("hub", redact(q.Hub)))
		}
		if h == nil {
			h = &Hub{URI: q.Hub}
		}
		if r, ok := h.Submitter.(Registrar); ok {
			r.Register(q.Topic)
		}
		senders = append(senders, newSender(p, q.Topic, h))
	}
	return senders, nil
}

// end adds the last notification of a topic, unless there is one already, and returns
// its number, or 0 if there is none. The state after it has no documents, so a set that comes
// back is announced anew.
func (p *Publisher) end(ctx context.Context, topic string) (last int64, err error) {
	state, err := p.outbox.State(ctx, topic)
	if err != nil || state.Number == 0 {
		return 0, err // nothing was announced there
	}
	newest, err := p.outbox.Notifications(ctx, topic, state.Number-1, 1)
	if err != nil || len(newest) == 0 || !newest[0].From.IsZero() {
		return 0, err // a change channel: its notifications have intervals
	}
	if state.Documents == "" {
		return state.Number, nil
	}
	if !state.Until.Before(p.made) {
		// The channel has begun since this process was started, in another one
		// that knows more sets.
		return 0, nil
	}
	u := p.options.Removed(newest[0].CapabilityList)
	if u == nil {
		return 0, nil
	}
	body, ok := frameworkDocument(u, &leftOut{})
	if !ok {
		return 0, nil
	}
	n := Notification{Topic: topic, CapabilityList: newest[0].CapabilityList, Body: body}
	if err := p.outbox.Add(ctx, n, state, State{Number: state.Number + 1, Until: state.Until}); err != nil {
		return 0, err
	}
	p.counters.notifications.Add(1)
	return state.Number + 1, nil
}

// hub returns the hub of that URI of any channel, or nil.
func (p *Publisher) hub(uri string) *Hub {
	for i := range p.channels {
		for j := range p.channels[i].Hubs {
			if h := &p.channels[i].Hubs[j]; h.URI == uri {
				return h
			}
		}
	}
	return nil
}
