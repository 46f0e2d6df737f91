// Package static writes the documents of a ResourceSync Source as files, for a site that has
// a web server or a bucket but no process that could answer requests.
//
// [Write] brings a folder up to date. It reads and writes only changed parts: a document whose
// state has not changed since the last Write is not rendered, and a file with the same bytes is
// not touched. After a change in a set of a million resources, Write replaces the page, its index,
// the open Change List, and the list of recent changes.
//
// # Concurrent readers
//
// A web server may serve the folder while Write works, and Write may be killed at any moment. A
// file is always whole: it is written beside the old one, which it then replaces. Parts are
// written before the documents that list them, so every link leads to a file. Files that are no
// longer listed stay for [Options].Grace, for Destinations that have read an earlier index.
//
// # The folder
//
// The folder is the root of the site: the file a/b has the URL https://example.org/a/b.
// It may have other files. Write replaces and removes only files that it has written, which it
// records in the file .static.json beside the documents.
package static

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Options are the optional arguments of [Write].
type Options struct {
	// Gzip writes a compressed copy of each document beside it, with the name of the
	// document and .gz, for web servers that send such files (gzip_static in nginx).
	Gzip bool

	// Grace is the time for which a file stays after the last document that listed it has dropped it. If
	// zero, 24 hours is used; if negative, such files are removed at once.
	Grace time.Duration

	// DumpEvery is the minimum time between two versions of a Resource Dump, of which
	// each change of a resource replaces a package. A Destination that has copied an
	// older dump continues with the Change List. If zero, 24 hours is used; if negative,
	// each Write brings the dump up to date.
	DumpEvery time.Duration

	// Logger receives warnings and errors. If nil, slog.Default() is used.
	Logger *slog.Logger

	changed func() // called after each change of a file, for tests
}

// A Report is the result of [Write]. Paths are relative to the folder and separated by
// slashes.
type Report struct {
	Documents int      // that exist now, with packages
	Written   []string // files that are new or replaced, in the order in which they were written
	Bytes     int64    // of the written files
	Removed   []string // files
	Unlisted  int      // documents that are no longer listed and will be removed
}

// Write brings the files of src in the folder out up to date. It creates the folder if it
// does not exist. The report is valid even if there is an error; the next Write then
// continues. opts may be nil.
//
// The error is [resourcesync.ErrNotReady] if a set has no data yet, and [ErrLocked] while
// another Write works in the folder.
func Write(ctx context.Context, out string, src *Source, opts *Options) (Report, error) {
	var changed func()
	if opts != nil {
		changed = opts.changed
	}
	files, err := openTree(out, changed)
	if err != nil {
		return Report{}, fmt.Errorf("static: %w", err)
	}
	defer files.close()
	return WriteTo(ctx, files, src, opts)
}

// WriteTo is like Write, for a place other than a folder, such as a bucket (package
// adapters/objectstore). If the Store has headers, Options.Gzip stores each document compressed
// and with the header Content-Encoding, instead of a copy beside it.
//
// The error is [ErrLocked] while another process writes to out.
func WriteTo(ctx context.Context, out Store, src *Source, opts *Options) (Report, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	w := newWriter(out, src, o.withDefaults())
	err := w.lockAndWrite(ctx)
	if err != nil {
		err = fmt.Errorf("static: %w", err)
	}
	return w.report, err
}

func (o Options) withDefaults() Options {
	o.Grace = cmp.Or(o.Grace, 24*time.Hour)
	o.DumpEvery = cmp.Or(o.DumpEvery, 24*time.Hour)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}
