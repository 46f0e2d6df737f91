package terminal

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"
)

// LogHandler returns a handler that writes messages for people: the time of day, the
// level, the message, and then the attributes as in [slog.TextHandler].
func (s *Screen) LogHandler() slog.Handler {
	h := &logHandler{screen: s, shared: new(sharedBuffer)}
	h.attrs = slog.NewTextHandler(&h.shared.attrs, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		},
	})
	return h
}

type logHandler struct {
	screen *Screen
	shared *sharedBuffer
	attrs  slog.Handler // writes to shared.attrs
}

// A sharedBuffer is shared by all handlers that are derived from one.
type sharedBuffer struct {
	mu    sync.Mutex
	attrs bytes.Buffer
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.attrs.Enabled(ctx, level)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.screen, h.shared, h.attrs.WithAttrs(attrs)}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.screen, h.shared, h.attrs.WithGroup(name)}
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	h.shared.attrs.Reset()
	if err := h.attrs.Handle(ctx, r); err != nil {
		return err
	}
	line := h.screen.Paint(Faint, r.Time.Format(time.TimeOnly)) + " " + h.level(r.Level) + " " + Printable(r.Message)
	if attrs := bytes.TrimSpace(h.shared.attrs.Bytes()); len(attrs) > 0 {
		line += "  " + h.screen.Paint(Faint, string(attrs))
	}
	_, err := h.screen.Write([]byte(line + "\n"))
	return err
}

// level returns a level in five columns.
func (h *logHandler) level(level slog.Level) string {
	style := Plain
	switch {
	case level >= slog.LevelError:
		style = Red
	case level >= slog.LevelWarn:
		style = Yellow
	}
	text := level.String()
	return h.screen.Paint(style, text) + "     "[min(len(text), 5):]
}

// NewLogger returns a logger for people on a terminal, and otherwise one for programs,
// in a format.
func NewLogger(s *Screen, format string) *slog.Logger {
	switch {
	case format == "json":
		return slog.New(slog.NewJSONHandler(s, nil))
	case s.Control:
		return slog.New(s.LogHandler())
	}
	return slog.New(slog.NewTextHandler(s, nil))
}

// LogEvery is the interval of progress lines in the log, without a terminal.
const LogEvery = time.Minute
