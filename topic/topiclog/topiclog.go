// Package topiclog defines the type of the logs in which Sources keep their notifications.
// It is apart from package topic so that a store does not link HTTP.
package topiclog

import "github.com/resourcesync-go/resourcesync/internal/pushlog"

// A Log stores the notifications of a Source's topics, and the cursors of its hubs and
// subscribers. [NewMemory] and the Log method of a store return one; the zero value is not
// usable. Each Source needs its own Log. Only this module reads and writes the contents of a Log.
type Log struct{ log pushlog.Log }

// NewMemory returns a Log in memory, for a single process.
func NewMemory() Log { return Log{pushlog.NewMemory()} }

func init() {
	pushlog.Seal = func(l pushlog.Log) any { return Log{l} }
	pushlog.Unseal = func(l any) pushlog.Log { return l.(Log).log }
}
