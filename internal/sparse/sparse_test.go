package sparse

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func newLogger(level slog.Level) (*slog.Logger, *bytes.Buffer) {
	b := new(bytes.Buffer)
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level})), b
}

// TestD22_OneLineASecond logs two kinds a hundred times a second for a minute.
func TestD22_OneLineASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, b := newLogger(slog.LevelInfo)
		var l Log
		for range 60 * 100 {
			l.Log(t.Context(), to, slog.LevelWarn, "one")
			l.LogKind(t.Context(), to, slog.LevelInfo, "other kind", "one", slog.Int("status", 404))
			time.Sleep(10 * time.Millisecond)
		}
		lines := strings.Count(b.String(), "\n")
		if lines != 2*60 || strings.Count(b.String(), "suppressed=99") != 2*59 {
			t.Errorf("%d lines, of which %d say suppressed=99", lines, strings.Count(b.String(), "suppressed=99"))
		}
	})
}

func TestD22_SuppressedAtDebug(t *testing.T) {
	to, b := newLogger(slog.LevelDebug)
	l := Log{Every: time.Hour}
	for range 3 {
		l.Log(t.Context(), to, slog.LevelError, "one")
	}
	if strings.Count(b.String(), "ERROR") != 1 || strings.Count(b.String(), "DEBUG") != 2 {
		t.Error(b)
	}
}

// TestD22_Kinds: clients cannot create an unlimited number of kinds.
func TestD22_Kinds(t *testing.T) {
	to, b := newLogger(slog.LevelInfo)
	l := Log{Every: time.Hour}
	for i := range 10_000 {
		l.LogKind(t.Context(), to, slog.LevelInfo, fmt.Sprint(i), "text")
	}
	if lines := strings.Count(b.String(), "\n"); lines != maxKinds+1 || len(l.kinds) != maxKinds+1 {
		t.Errorf("%d lines, %d kinds", lines, len(l.kinds))
	}
}

func TestD22_LongValues(t *testing.T) {
	to, b := newLogger(slog.LevelInfo)
	long := strings.Repeat("ä", 450_000)
	var l Log
	l.Log(t.Context(), to, slog.LevelInfo, "one", slog.String("path", long), slog.Any("error", errors.New(long)), slog.Int("status", 404))
	if b.Len() > 3*maxText || strings.Count(b.String(), "(900000 bytes)") != 2 || !utf8.Valid(b.Bytes()) {
		t.Errorf("%d bytes: %.2000s", b.Len(), b)
	}
	if short := strings.Repeat("x", maxText); Clip(short) != short {
		t.Error("a short value is clipped")
	}
}

// TestD22_ServerErrors logs the errors that an http.Server reports about its clients.
func TestD22_ServerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, b := newLogger(slog.LevelInfo)
		log := slog.NewLogLogger(Handler(to.Handler()), slog.LevelWarn)
		for port := range 1000 {
			log.Printf("http: TLS handshake error from 192.0.2.1:%d: EOF", port)
		}
		log.Printf("http: panic serving 192.0.2.1:1: %s", strings.Repeat("x", 1_000_000))
		time.Sleep(time.Second)
		log.Print("http: TLS handshake error from 192.0.2.1:1: EOF")
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != 3 || !strings.Contains(lines[1], "panic") || len(lines[1]) > 2*maxStack || !strings.Contains(lines[2], "suppressed=999") {
			t.Errorf("%d lines: %.3000s", len(lines), b)
		}
	})
}

func TestRedactURI(t *testing.T) {
	for uri, want := range map[string]string{
		"https://hub.example.net/websub/":            "https://hub.example.net/websub/",
		"https://hub.example.net/?token=sesame":      "https://hub.example.net/?…",
		"https://me:sesame@hub.example.net/?a=b#top": "https://hub.example.net/?…#top",
		"https://hub.example.net/%zz?token=sesame":   "(not a URI)",
	} {
		if got := RedactURI(uri); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}
