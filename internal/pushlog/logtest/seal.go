package logtest

import (
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// Seal returns l as the packages of a Source take it.
func Seal(l pushlog.Log) topiclog.Log { return pushlog.Seal(l).(topiclog.Log) }
