package state

import "zombiezen.com/go/sqlite"

// A Subscription is a subscription to a topic at a hub. If a process ends without
// cancelling it, the next process renews it, so that the hub does not send everything
// twice.
type Subscription struct {
	Topic    string
	Callback string // URL
	Secret   string // with which the hub signs
}

// Subscription returns the subscription of a topic.
func (s *State) Subscription(topic string) (sub Subscription, ok bool, err error) {
	err = s.query("SELECT callback, secret FROM subscription WHERE topic = ?", func(row *sqlite.Stmt) error {
		sub, ok = Subscription{topic, row.ColumnText(0), row.ColumnText(1)}, true
		return nil
	}, topic)
	return sub, ok, err
}

// SaveSubscription stores a subscription.
func (s *State) SaveSubscription(sub Subscription) error {
	return s.exec("INSERT OR REPLACE INTO subscription (topic, callback, secret) VALUES (?, ?, ?)", sub.Topic, sub.Callback, sub.Secret)
}

// DeleteSubscription removes the subscription of a topic.
func (s *State) DeleteSubscription(topic string) error {
	return s.exec("DELETE FROM subscription WHERE topic = ?", topic)
}
