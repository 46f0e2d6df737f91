package topic

import "time"

// A Status is the progress of the channels of a Source and their hubs. It contains no
// queries of URIs, and can be served as JSON.
type Status struct {
	Topics   []TopicStatus `json:"topics"`
	Counters Counters      `json:"counters"`
}

// A TopicStatus is the progress of a channel.
type TopicStatus struct {
	Topic  string      `json:"topic"`
	Newest int64       `json:"newest"`         // number of the newest notification, 0 before the first
	Until  time.Time   `json:"until,omitzero"` // for a change channel, the beginning of the next notification
	Error  string      `json:"error,omitzero"` // prevents this process from publishing
	Hubs   []HubStatus `json:"hubs"`
}

// A HubStatus is the progress of a hub on a topic.
type HubStatus struct {
	Hub          string    `json:"hub"`
	Taken        int64     `json:"taken"`
	Behind       int64     `json:"behind"`
	Failures     int       `json:"failures"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	LastError    string    `json:"lastError,omitzero"`
	NextAttempt  time.Time `json:"nextAttempt,omitzero"`
	Refused      int64     `json:"refused"`
	LastRefused  int64     `json:"lastRefused,omitzero"`
	RefusedError string    `json:"refusedError,omitzero"`
	Lost         int64     `json:"lost"`
}

// Counters are totals since the process was started. They can be served as JSON.
type Counters struct {
	Notifications uint64 `json:"notifications"` // appended to the log
	Changes       uint64 `json:"changes"`       // changes in these notifications
	LeftOut       uint64 `json:"leftOut"`       // changes and documents omitted because of invalid URIs
	Dropped       uint64 `json:"droppedFields"` // fields omitted because a document cannot hold their values
	Taken         uint64 `json:"taken"`         // notifications accepted by a hub
	Failures      uint64 `json:"failures"`      // failed attempts to send a notification
	Refused       uint64 `json:"refused"`       // notifications permanently refused by a hub
	Lost          uint64 `json:"lost"`          // notifications dropped by retention before a hub or subscriber accepted them, counted for each
}
