// Package sparse limits the rate and length of log lines that clients can cause.
package sparse

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// maxText is the maximum length, in bytes, of a logged value.
	maxText = 500

	// maxKinds is the maximum number of distinguished kinds; all others count as
	// one.
	maxKinds = 100
)

// A Log writes at most one line of each kind in an interval, with the number of lines
// suppressed since. It writes suppressed lines at level Debug, and shortens long values.
// The zero value is ready for use. It is safe for concurrent use.
type Log struct {
	Every time.Duration // the interval; a second if zero

	mu    sync.Mutex
	kinds map[string]state
}

type state struct {
	logged     time.Time
	suppressed int
}

// Log logs text as a line of the kind text.
func (l *Log) Log(ctx context.Context, to *slog.Logger, level slog.Level, text string, attrs ...slog.Attr) {
	l.LogKind(ctx, to, level, text, text, attrs...)
}

// LogKind logs text as a line of a kind.
func (l *Log) LogKind(ctx context.Context, to *slog.Logger, level slog.Level, kind, text string, attrs ...slog.Attr) {
	ok, suppressed := l.admit(kind)
	if !ok {
		level = min(level, slog.LevelDebug)
	}
	if !to.Enabled(ctx, level) {
		return
	}
	for i, a := range attrs {
		attrs[i] = clip(a)
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	to.LogAttrs(ctx, level, text, attrs...)
}

// admit reports whether to log a line of a kind, and the number of lines suppressed since
// the last one.
func (l *Log) admit(kind string) (ok bool, suppressed int) {
	every := l.Every
	if every == 0 {
		every = time.Second
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.kinds[kind]
	if !known && len(l.kinds) >= maxKinds {
		kind = ""
		s = l.kinds[kind]
	}
	now := time.Now()
	if now.Sub(s.logged) < every {
		s.suppressed++
		l.kinds[kind] = s
		return false, 0
	}
	if l.kinds == nil {
		l.kinds = make(map[string]state)
	}
	l.kinds[kind] = state{logged: now}
	return true, s.suppressed
}

// clip shortens the value of a.
func clip(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(Clip(v.String()))
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			a.Value = slog.StringValue(Clip(err.Error()))
		}
	}
	return a
}

// Clip returns s, shortened if it is too long for a log line or a response.
func Clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:end], len(s))
}

// RedactURI returns uri without its user and its query, which may be secrets.
func RedactURI(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return "(not a URI)"
	}
	u.User = nil
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}

// Handler returns a handler for the ErrorLog of an http.Server; see [slog.NewLogLogger].
// The kind of a line is its first two words, such as "http: TLS".
func Handler(next slog.Handler) slog.Handler { return &handler{Handler: next} }

type handler struct {
	slog.Handler
	log Log
}

// maxStack is the maximum length, in bytes, of a logged line: a panic has a stack trace.
const maxStack = 8 << 10

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	words := strings.SplitN(r.Message, " ", 3)
	ok, suppressed := h.log.admit(strings.Join(words[:min(2, len(words))], " "))
	if !ok {
		return nil
	}
	if len(r.Message) > maxStack {
		r.Message = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(r.Message[:maxStack], ""), len(r.Message))
	}
	if suppressed > 0 {
		r.AddAttrs(slog.Int("suppressed", suppressed))
	}
	return h.Handler.Handle(ctx, r)
}
