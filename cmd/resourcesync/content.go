package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A content defines how the resources of a set are found and served. Fields that
// do not say otherwise may be nil.
type content struct {
	from slog.Attr // what the resources come from, for the log; mandatory
	unit string    // what they are, in the singular: file, page; mandatory

	// list lists all resources, for a complete scan into the stored set: at the start,
	// and at each interval of --rescan. Without it, nothing is scanned, and set has a
	// Provider.
	list func(ctx context.Context) listing

	// scanned returns when a complete scan last succeeded, if a scan at each start would
	// be too much: the first one is then due --rescan after it. The zero time means
	// never.
	scanned func(ctx context.Context) (time.Time, error)

	// part lists the changed resources, and their ranges of keys.
	part func(ctx context.Context, paths []string) ([]resourcesync.Range, listing)

	// watch calls changed at each change until ctx ends: with paths for part, or with nil
	// for a complete scan. If there is a part, its first call is changed(nil).
	watch func(ctx context.Context, changed func(paths []string)) error

	// health returns the error that keeps watch from noticing changes, or nil.
	health func() error

	// notes returns remarks that are no failures, for the public: they name no file and no
	// table.
	notes func() []string

	// current returns ErrNotReady if the stored set must not be shown before a scan,
	// because its URIs are not those that they would have now.
	current func(ctx context.Context) error

	// hidden returns an error while the set must not be shown, even if the store has it.
	hidden func() error

	// total estimates the resources that the first scan lists, and the bytes that it
	// reads; zero bytes if none. Without it, the numbers are those of the stored set.
	total func(ctx context.Context) (resources, bytes int64, err error)

	// reports is whether list reports its progress itself, by member.report.
	reports bool

	// run works in the background until ctx ends, and then returns nil.
	run func(ctx context.Context) error

	// changed is called at a ping with the URLs that it names; none if anything may have
	// changed. Without it, a ping causes a complete scan.
	changed func(urls ...*url.URL)

	// ping returns the handler of pings with a token, in place of one that calls changed.
	ping func(token string) http.Handler

	// set has the fields that the published set adds to the stored one, such as an Opener.
	// Its Provider, if there is one, replaces the stored set.
	set rshttp.Set

	// handler returns the handler of the URLs of the set, which also serves the documents
	// of the Source: the result of Source.Wrap or sidecar.Wrap.
	handler func(src *rshttp.Source) (http.Handler, error)

	uploads bool // the handler bounds the bodies of requests

	// status adds what only sets of this kind have to a status.
	status func(*setStatus)

	// close releases what open has opened. run has ended.
	close func() error
}
