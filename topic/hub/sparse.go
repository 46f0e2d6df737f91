package hub

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A sparse logs what strangers can make happen as often as they like: at Info at
// most once a second, with how many were left out since, as "unsaid"; these are at
// Debug. It is safe for concurrent use.
type sparse struct {
	mu     sync.Mutex
	said   time.Time
	unsaid int
}

func (s *sparse) log(ctx context.Context, to *slog.Logger, text string, args ...any) {
	level := slog.LevelDebug
	s.mu.Lock()
	if now := time.Now(); now.Sub(s.said) >= time.Second {
		level = slog.LevelInfo
		if s.unsaid > 0 {
			args = append(args, "unsaid", s.unsaid)
		}
		s.said, s.unsaid = now, 0
	} else {
		s.unsaid++
	}
	s.mu.Unlock()
	to.Log(ctx, level, text, args...)
}
