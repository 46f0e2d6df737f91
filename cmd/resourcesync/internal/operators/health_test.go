package operators

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthz(t *testing.T) {
	var err error
	var log bytes.Buffer
	h := &Health{
		Check: func(context.Context) error { return err },
		Notes: func() []string { return nil },
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
	}
	const body, unwell = "ok\n", "unhealthy; see the log\n"
	for _, step := range []struct {
		err    error
		status int
		body   string
		logged int // lines, until then
	}{
		{nil, 200, body, 0},
		{errors.New("secret"), 503, unwell, 1},
		{errors.New("secret"), 503, unwell, 1},
		{nil, 200, body, 2},
		{nil, 200, body, 2},
		{errors.New("secret"), 503, unwell, 3},
	} {
		err = step.err
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != step.status || w.Body.String() != step.body || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%v: %d %v %q", err, w.Code, w.Header(), w.Body)
		}
		if n := strings.Count(log.String(), "\n"); n != step.logged {
			t.Errorf("%v: logged\n%s", err, &log)
		}
	}
	if !strings.Contains(log.String(), "error=secret") {
		t.Errorf("logged\n%s", &log)
	}

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err = nil
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "GET", "/", nil))
	if strings.Count(log.String(), "\n") != 3 { // clients that disconnected got no answer
		t.Errorf("logged\n%s", &log)
	}
}
