package rshttp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// Counters are totals since the Source was created. They can be served as JSON.
type Counters struct {
	Rendered uint64 `json:"rendered"`      // documents made
	Planned  uint64 `json:"planned"`       // packages planned
	Hits     uint64 `json:"hits"`          // requests answered from the cache
	Refused  uint64 `json:"refused"`       // requests answered 503 or 429 because too much was being made or sent
	Failed   uint64 `json:"failed"`        // requests answered 503 because a provider failed
	LeftOut  uint64 `json:"leftOut"`       // entries left out of documents because their URIs cannot be written
	Dropped  uint64 `json:"droppedFields"` // fields left out of entries because no document can hold their values
	Sent     uint64 `json:"sent"`          // packages sent, whole or in part
	Broken   uint64 `json:"broken"`        // of them, those broken off because content differed from its entry
	Read     uint64 `json:"read"`          // resources read for their checksums alone

	CacheBytes int64 `json:"cacheBytes"` // held by rendered documents now
	PlanBytes  int64 `json:"planBytes"`  // held by the plans of packages now, including those being made and sent
	Transfers  int   `json:"transfers"`  // packages and versions being sent now
	WebSockets int   `json:"webSockets"` // connected now
}

type counters struct {
	rendered, hits, refused, failed, sent, broken atomic.Uint64

	packages packages.Counters
}

// Counters returns the Source's counters.
func (s *Source) Counters() Counters {
	webSockets := 0
	if feed := s.options.WebSocket; feed != nil {
		webSockets = feed.Clients()
	}
	return Counters{
		Rendered:   s.counters.rendered.Load(),
		Planned:    s.counters.packages.Planned.Load(),
		Hits:       s.counters.hits.Load() + s.counters.packages.Hits.Load(),
		Refused:    s.counters.refused.Load(),
		Failed:     s.counters.failed.Load(),
		LeftOut:    s.site.LeftOut.Load(),
		Dropped:    s.site.Dropped.Load(),
		Sent:       s.counters.sent.Load(),
		Broken:     s.counters.broken.Load(),
		Read:       s.counters.packages.Read.Load(),
		CacheBytes: s.cache.size(),
		PlanBytes:  s.plans.Memory(),
		Transfers:  s.transfers.Running(),
		WebSockets: webSockets,
	}
}

// A SetStatus describes the state of a set for operators. It can be served as JSON.
type SetStatus struct {
	Set       string    `json:"set,omitzero"`
	Resources int64     `json:"resources"`         // negative if unknown
	Changed   time.Time `json:"changed,omitzero"`  // the time of the newest change in the set
	Recorded  time.Time `json:"recorded,omitzero"` // the time of the newest change in its journal
	Pending   time.Time `json:"pending,omitzero"`  // when the oldest change was recorded that the store of its journal does not show yet
}

// SetStatus returns the status of each set, in the order given to [New]. It costs what one
// request for a document of each set does: it calls Stat and lists nothing. Values that a
// provider does not supply are unknown. A set that fails is missing, and joined into the
// error.
func (s *Source) SetStatus(ctx context.Context) ([]SetStatus, error) {
	var (
		all  []SetStatus
		errs []error
	)
	for _, st := range s.site.Order {
		now, err := statusOf(ctx, st)
		switch {
		case err == nil || errors.Is(err, resourcesync.ErrNotReady):
			all = append(all, now)
		default:
			errs = append(errs, fmt.Errorf("rshttp: %s: %w", document.Title(st.Name), err))
		}
	}
	return all, errors.Join(errs...)
}

func statusOf(ctx context.Context, st *document.Set) (SetStatus, error) {
	now := SetStatus{Set: st.Name, Resources: -1}
	stat, err := document.StatOf(ctx, st.Stater, partition.Whole)
	if err != nil || st.Stater == nil {
		return now, err
	}
	now.Resources, now.Changed = stat.Count, stat.LastModified
	if st.Changer == nil || st.ChangeStater == nil {
		return now, nil
	}
	stat, err = document.StatOf(ctx, st.ChangeStater, partition.Whole)
	now.Recorded = stat.LastModified
	if p, ok := st.Changer.(resourcesync.Pender); ok && err == nil {
		now.Pending, err = p.Pending(ctx)
	}
	return now, err
}
