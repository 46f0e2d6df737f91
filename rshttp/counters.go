package rshttp

import "sync/atomic"

// Counters tell what a Source has done since it was made.
type Counters struct {
	Rendered uint64 // documents made
	Hits     uint64 // requests answered from what was kept
	Refused  uint64 // requests answered 503 because too many documents were being made
	Failed   uint64 // requests answered 503 because a provider failed
	LeftOut  uint64 // entries left out of documents because their URIs cannot be written

	CacheBytes int64 // held by rendered documents now
}

type counters struct {
	rendered, hits, refused, failed, leftOut atomic.Uint64
}

// Counters returns the Source's counters.
func (s *Source) Counters() Counters {
	return Counters{
		Rendered:   s.counters.rendered.Load(),
		Hits:       s.counters.hits.Load(),
		Refused:    s.counters.refused.Load(),
		Failed:     s.counters.failed.Load(),
		LeftOut:    s.counters.leftOut.Load(),
		CacheBytes: s.cache.size(),
	}
}
