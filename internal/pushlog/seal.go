package pushlog

// Package topiclog, whose type Log hides a [Log] from applications, sets these functions.
var (
	// Seal returns the topiclog.Log of a Log.
	Seal func(Log) any

	// Unseal returns the Log of a topiclog.Log, or nil if that is the zero value.
	Unseal func(any) Log
)
