package resourcesync

import (
	"errors"
	"fmt"
	"time"
)

// ErrScanning means that a store refuses a scan of a set because another one is running.
var ErrScanning = errors.New("resourcesync: another scan is running")

// ErrUnchanged states that the set already has the current version of a resource. Scanners
// that know what is in the set yield it together with a Resource that has only a Key, which
// saves the store from reading and comparing the resource once more. Like an
// [UnreadableError], it does not end the iteration.
var ErrUnchanged = errors.New("resourcesync: the resource has not changed")

// A ScanResult is the result of a scan: the numbers of changed and unchanged resources.
type ScanResult struct {
	Created, Updated, Deleted int

	// Unchanged is the number of listed resources that the set already had. It also
	// counts repetitions in the listing, of which the first one applies, and resources
	// that other writers changed during the scan.
	Unchanged int

	// Unreadable is the number of resources that were kept because the scanner could
	// not read them.
	Unreadable int

	// Held is the number of deletions that are held because they are too many to be
	// published without confirmation. The resources stay listed, except withdrawn ones.
	// HeldSince is the time since when deletions are held; zero if Held is 0.
	Held      int
	HeldSince time.Time
}

// An UnreadableError reports that a scanner could not read a part of its input: a
// folder without permission, a file on a broken disk, a section of a website that
// answers 500. The resources in that part may still exist, so stores keep them.
//
// Scanners yield it in place of a resource. Unlike other errors of an iteration, it
// does not end the iteration: the scan continues with the other parts. The Scan
// methods of stores keep each resource that the listing does not yield and whose key
// is in Keys. Any other error ends a scan, and nothing is deleted.
type UnreadableError struct {
	Keys Range // the keys of the resources that could not be read
	Err  error // the reason
}

// Error implements error.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("resources from %q to %q cannot be read: %v", e.Keys.From, e.Keys.To, e.Err)
}

// Unwrap returns the reason.
func (e *UnreadableError) Unwrap() error { return e.Err }
