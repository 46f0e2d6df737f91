package rshttp

import (
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync/internal/packages"
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
}

type counters struct {
	rendered, hits, refused, failed, leftOut, dropped, sent, broken atomic.Uint64

	packages packages.Counters
}

// Counters returns the Source's counters.
func (s *Source) Counters() Counters {
	return Counters{
		Rendered:   s.counters.rendered.Load(),
		Planned:    s.counters.packages.Planned.Load(),
		Hits:       s.counters.hits.Load() + s.counters.packages.Hits.Load(),
		Refused:    s.counters.refused.Load(),
		Failed:     s.counters.failed.Load(),
		LeftOut:    s.counters.leftOut.Load(),
		Dropped:    s.counters.dropped.Load(),
		Sent:       s.counters.sent.Load(),
		Broken:     s.counters.broken.Load(),
		Read:       s.counters.packages.Read.Load(),
		CacheBytes: s.cache.size(),
		PlanBytes:  s.plans.Memory(),
	}
}
