package rshttp

import "sync/atomic"

// Counters tell what a Source has done since it was made.
type Counters struct {
	Rendered uint64 // documents made
	LaidOut  uint64 // packages laid out
	Hits     uint64 // requests answered from what was kept
	Refused  uint64 // requests answered 503 because too much was being made or sent
	Failed   uint64 // requests answered 503 because a provider failed
	LeftOut  uint64 // entries left out of documents because their URIs cannot be written
	Sent     uint64 // packages sent, whole or in part
	Broken   uint64 // of them, those broken off because content was not what was listed
	Read     uint64 // resources read for their checksums alone

	CacheBytes  int64 // held by rendered documents now
	LayoutBytes int64 // held by the layouts of packages now
}

type counters struct {
	rendered, laidOut, hits, refused, failed, leftOut, sent, broken, read atomic.Uint64
}

// Counters returns the Source's counters.
func (s *Source) Counters() Counters {
	return Counters{
		Rendered:    s.counters.rendered.Load(),
		LaidOut:     s.counters.laidOut.Load(),
		Hits:        s.counters.hits.Load(),
		Refused:     s.counters.refused.Load(),
		Failed:      s.counters.failed.Load(),
		LeftOut:     s.counters.leftOut.Load(),
		Sent:        s.counters.sent.Load(),
		Broken:      s.counters.broken.Load(),
		Read:        s.counters.read.Load(),
		CacheBytes:  s.cache.size(),
		LayoutBytes: s.layouts.size(),
	}
}
