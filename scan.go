package resourcesync

import (
	"errors"
	"fmt"
	"time"
)

// ErrScanning says that a store refused a scan of a set because another is under way.
var ErrScanning = errors.New("resourcesync: another scan is under way")

// A ScanResult counts what a scan did to a set.
type ScanResult struct {
	Created, Updated, Deleted int

	// Unchanged counts the listed resources that the set already had, repetitions
	// in the listing (the first one counts), and resources that were changed by
	// other writers during the scan.
	Unchanged int

	// Unreadable counts the resources that stay because the scanner could not
	// read them.
	Unreadable int

	// Held counts the deletions that are held because they are too many to be
	// published without a confirmation. The resources stay listed, except for those
	// that were withdrawn. HeldSince is when holding began, if Held is not 0.
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
