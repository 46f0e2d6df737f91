package resourcesync

import "fmt"

// An UnreadableError reports that a scanner could not read a part of its source: a
// folder without permission, a file on a broken disk, a section of a site that
// answers 500. It says nothing about the resources in that part, so a store keeps
// them.
//
// Scanners yield it in place of a resource. Unlike other errors of an iteration, it
// is not the last: the scan continues with the other parts. The Scan methods of
// stores keep every resource whose key is in Keys and that the listing does not
// yield. Any other error ends a scan, and nothing is deleted.
type UnreadableError struct {
	Keys Range // the keys of the resources that could not be read
	Err  error // why
}

// Error implements error.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("resources from %q to %q cannot be read: %v", e.Keys.From, e.Keys.To, e.Err)
}

// Unwrap returns the reason.
func (e *UnreadableError) Unwrap() error { return e.Err }
