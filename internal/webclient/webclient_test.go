package webclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A drip sends one byte every 50 seconds.
type drip struct{ ctx context.Context }

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(50 * time.Second):
		return 1, nil
	}
}
func (drip) Close() error { return nil }

// TestSlow: a transfer from a server that keeps sending a little ends.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := NewBody(drip{ctx}, time.Minute, cancel, cancel)
		begun := time.Now()
		if n, err := io.Copy(io.Discard, io.LimitReader(b, 100)); err == nil || time.Since(begun) != time.Minute {
			t.Errorf("%d bytes in %v, %v", n, time.Since(begun), err)
		}
		b.Close()
	})
}

// TestText reads no more than the limit, even if the text is highly compressed.
func TestText(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, strings.Repeat("0", 1000))
	z.Close()
	errLong := errors.New("too long")
	for limit, want := range map[int64]error{999: errLong, 1000: nil} {
		for _, in := range []string{b.String(), strings.Repeat("0", 1000)} {
			r, err := Text(strings.NewReader(in), limit, errLong)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(r); err != want || err == nil && len(text) != 1000 {
				t.Errorf("limit %d: %d bytes, %v", limit, len(text), err)
			}
		}
	}
}

// TestPause records the pause that a server requests, up to a maximum.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pause
		for _, test := range []struct {
			status int
			asked  string
			want   time.Duration
		}{{200, "60", 0}, {503, "", 0}, {503, "60", time.Minute}, {429, "36000", time.Hour}} {
			p.Record(&http.Response{StatusCode: test.status, Header: http.Header{"Retry-After": {test.asked}}}, time.Hour)
			if got := max(p.Rest(), 0); got != test.want {
				t.Errorf("%+v: %v", test, got)
			}
		}
	})
}
