package rshttp

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// A site is the data that the documents of all sets share.
type site struct {
	options     Options
	log         *slog.Logger
	sparse      sparse.Log // for lines that clients can cause
	routes      *routes
	sets        map[string]*set
	order       []*set // as given to New
	description description
	counters    counters
	made        time.Time
}

func (s *site) packageSize() packages.Size { return packages.Size(s.options.Division.PackageSize) }

// presentable reports whether a change of the Source Description can be announced: each set
// that it names has data, or has had presentTime to get it. So a set that cannot be read does
// not hide the change from the subscribers of the other sets.
func (s *site) presentable(ctx context.Context) bool {
	return time.Since(s.made) >= presentTime || !slices.ContainsFunc(s.order, func(st *set) bool { return st.ready(ctx) != nil })
}

const presentTime = 10 * time.Minute

func (st *set) url(kind, part string) string { return st.routes.url(kind, st, part) }

// report counts the entries and the fields that a document of st omits, and logs the
// first of each.
func (st *set) report(entries, fields render.Omitted) {
	if entries.N > 0 {
		st.counters.leftOut.Add(uint64(entries.N))
		st.logOmitted(&entries, "resources are omitted: a document cannot hold their URIs")
	}
	if fields.N > 0 {
		st.counters.dropped.Add(uint64(fields.N))
		st.logOmitted(&fields, "fields of entries are omitted: a document cannot hold their values")
	}
}

// logOmitted logs the omissions of a document, unless they have been logged before: a broken
// set must not fill the log each time that one of its documents is rendered.
func (st *set) logOmitted(omitted *render.Omitted, msg string) {
	first := omitted.First()
	if st.reported.first(fmt.Sprint(msg, first)) {
		st.log.LogAttrs(context.Background(), slog.LevelWarn, msg, slog.String("set", st.Name), slog.Int("count", omitted.N), first)
	}
}

// maxReported is the maximum number of different messages about a set in the log. Further
// ones are only counted.
const maxReported = 100

// reported has the digests of the messages that have been logged.
type reported struct {
	mu   sync.Mutex
	seen map[uint64]bool
}

var reportedSeed = maphash.MakeSeed()

// first reports whether to log the message: whether it is new and maxReported is not
// reached.
func (r *reported) first(message string) bool {
	sum := maphash.String(reportedSeed, message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[sum] || len(r.seen) == maxReported {
		return false
	}
	if r.seen == nil {
		r.seen = make(map[uint64]bool)
	}
	r.seen[sum] = true
	return true
}

// runSets does the background work of the sets until ctx ends.
func (s *site) runSets(ctx context.Context) error {
	var running sync.WaitGroup
	for _, st := range s.order {
		running.Go(func() { st.pages.Run(ctx, s.log) })
		if st.Opener != nil {
			running.Go(func() { st.packages.Run(ctx, s.log) })
		}
		if st.has(resourcesync.ChangeDump) {
			running.Go(func() { st.changePackages.Run(ctx, s.log) })
		}
		if st.Watcher != nil {
			running.Go(func() {
				background.Watch(ctx, st.Watcher.Watch, func() {
					st.pages.Wake()
					st.packages.Wake()
				}, st.log.With("set", st.Name), "watching a set has ended; restarting")
			})
		}
	}
	running.Wait()
	return nil
}
