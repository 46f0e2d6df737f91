package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An answer is an answer of a test server.
type answer struct {
	status int
	after  string // Retry-After
}

// A log is a RoundTripper that answers and logs requests, with the seconds since the first one.
type log struct {
	answer func(path string) answer

	mu    sync.Mutex
	begun time.Time
	lines []string
}

// RoundTrip implements [http.RoundTripper].
func (l *log) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun.IsZero() {
		l.begun = time.Now()
	}
	a := l.answer(r.URL.Path)
	l.lines = append(l.lines, fmt.Sprintf("%.0f %s %d", time.Since(l.begun).Seconds(), r.URL.Path, a.status))
	res := &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("text")), Request: r}
	if a.after != "" {
		res.Header.Set("Retry-After", a.after)
	}
	return res, nil
}

// newLogged returns a Client of a test server, and a function that returns the log.
func newLogged(answer func(path string) answer) (*Client, func() []string) {
	l := &log{answer: answer}
	return New(Options{Transport: l, IgnoreRobots: true}), func() []string {
		l.mu.Lock()
		defer l.mu.Unlock()
		defer func() { l.lines = nil }()
		return l.lines
	}
}

func (c *Client) testList(ctx context.Context) error {
	d, err := c.Document(ctx, "https://example.org/list", Validators{})
	if err == nil {
		d.Close()
	}
	return err
}

func (c *Client) testResource(ctx context.Context, name string) error {
	content, err := c.Download(ctx, Folder{}, Want{URI: "https://example.org/" + name})
	if err == nil {
		content.Close()
	}
	return err
}

func testLog(t *testing.T, log func() []string, want ...string) {
	t.Helper()
	if got := log(); !slices.Equal(got, want) {
		t.Errorf("the requests are %q, want %q", got, want)
	}
}

// TestSingleResource has one resource that requests a pause of a day. The host waits for five
// minutes, and a list decides. In the next hour, such a resource delays nothing else.
func TestSingleResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, log := newLogged(func(path string) answer {
			if strings.HasPrefix(path, "/busy") {
				return answer{503, "86400"}
			}
			return answer{200, ""}
		})
		begun := time.Now()
		ctx := WithPatience(t.Context(), NewPatience(10*time.Minute))
		if err := c.testList(ctx); err != nil {
			t.Fatal(err)
		}
		err := c.testResource(ctx, "busy1")
		failed, ok := errors.AsType[*StatusError](err)
		if !ok || failed.Status != 503 || !failed.Until.Equal(begun.Add(24*time.Hour)) {
			t.Errorf("the busy resource: %v", err)
		}
		if p := c.Pauses(); len(p) != 1 || p[0] != (Pause{"https://example.org:443", begun.Add(5 * time.Minute)}) {
			t.Errorf("the pauses are %v", p)
		}
		if err := c.testResource(ctx, "other"); err != nil {
			t.Errorf("another resource: %v", err)
		}
		if err := c.testResource(ctx, "busy2"); !IsStatus(err, 503) {
			t.Errorf("another busy resource: %v", err)
		}
		if err := c.testResource(ctx, "other"); err != nil {
			t.Errorf("another resource: %v", err)
		}
		testLog(t, log, "0 /list 200", "0 /busy1 503", "300 /list 200", "300 /other 200", "300 /busy2 503", "300 /other 200")

		// An hour later, the host is suspected again, for as long as the resource
		// requests.
		time.Sleep(time.Hour)
		if err := c.testResource(ctx, "busy3"); !IsStatus(err, 503) {
			t.Errorf("a busy resource after an hour: %v", err)
		}
		if err := c.testResource(ctx, "other"); err != nil {
			t.Errorf("another resource: %v", err)
		}
		testLog(t, log, "3900 /busy3 503", "4200 /list 200", "4200 /other 200")

		// The patience of ten minutes has ended for this run, and not for another one.
		time.Sleep(time.Hour)
		if err := c.testResource(ctx, "busy4"); !IsStatus(err, 503) {
			t.Errorf("a busy resource after another hour: %v", err)
		}
		if err := c.testResource(ctx, "other"); !errors.Is(err, ErrPaused) || !strings.Contains(err.Error(), "https://example.org:443 has asked for a pause") {
			t.Errorf("without patience: %v", err)
		}
		if err := c.testResource(WithPatience(t.Context(), NewPatience(10*time.Minute)), "other"); err != nil {
			t.Errorf("another run: %v", err)
		}
	})
}

// TestBusyHost has a resource and a list that answer 503: the host waits as long as asked, and no
// longer than a day.
func TestBusyHost(t *testing.T) {
	for name, test := range map[string]struct {
		resource, list answer
		want           time.Duration // after the list has answered
	}{
		"as the resource asks": {answer{503, "7200"}, answer{503, ""}, 2*time.Hour - 5*time.Minute},
		"as the list asks":     {answer{503, "600"}, answer{429, "7200"}, 2 * time.Hour},
		"a year":               {answer{503, "31536000"}, answer{503, "31536000"}, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				busy := false
				c, log := newLogged(func(path string) answer {
					switch {
					case path == "/busy":
						return test.resource
					case path == "/list" && busy:
						return test.list
					}
					return answer{200, ""}
				})
				ctx := WithPatience(t.Context(), NewPatience(10*time.Minute))
				if err := c.testList(ctx); err != nil {
					t.Fatal(err)
				}
				busy = true
				if err := c.testResource(ctx, "busy"); !IsStatus(err, 503) {
					t.Errorf("the busy resource: %v", err)
				}
				done := make(chan error)
				for range 4 {
					go func() { done <- c.testResource(ctx, "other") }()
				}
				for range 4 {
					if err := <-done; !errors.Is(err, ErrPaused) {
						t.Errorf("another resource: %v", err)
					}
				}
				if rest := c.hosts.host(mustURL("https://example.org/")).pause.Rest(); rest != test.want {
					t.Errorf("the host is paused for %v, want %v", rest, test.want)
				}
				testLog(t, log, "0 /list 200", "0 /busy 503", fmt.Sprintf("300 /list %d", test.list.status))
				time.Sleep(test.want)
				if err := c.testResource(ctx, "other"); err != nil {
					t.Errorf("after the pause: %v", err)
				}
			})
		})
	}
}

// TestPausedAtOnce has 429 for a resource and 503 for a list: both pause the host at once.
func TestPausedAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		request func(context.Context, *Client) error
		answer  answer
		want    time.Duration
	}{
		"429 for a resource":    {func(ctx context.Context, c *Client) error { return c.testResource(ctx, "a") }, answer{429, "3600"}, time.Hour},
		"429 without a time":    {func(ctx context.Context, c *Client) error { return c.testResource(ctx, "a") }, answer{429, ""}, shortPause},
		"503 for a list":        {func(ctx context.Context, c *Client) error { return c.testList(ctx) }, answer{503, "3600"}, time.Hour},
		"503 for years, a list": {func(ctx context.Context, c *Client) error { return c.testList(ctx) }, answer{503, "31536000"}, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, log := newLogged(func(string) answer { return test.answer })
				c.attempts = 1
				if err := test.request(t.Context(), c); !IsStatus(err, test.answer.status) {
					t.Errorf("got %v", err)
				}
				log()
				if p := c.Pauses(); len(p) != 1 || time.Until(p[0].Until) != test.want {
					t.Errorf("the pauses are %v", p)
				}
				if test.want > maxPause {
					if err := c.testResource(t.Context(), "b"); !errors.Is(err, ErrPaused) {
						t.Errorf("meanwhile: %v", err)
					}
					testLog(t, log)
				}
				// Another process keeps the pause.
				other, log := newLogged(func(string) answer { return answer{200, ""} })
				if err := other.Pause(c.Pauses()[0]); err != nil {
					t.Fatal(err)
				}
				time.Sleep(test.want - time.Second)
				before := time.Now()
				if err := other.testResource(t.Context(), "b"); err != nil || time.Since(before) != time.Second {
					t.Errorf("in another process: %v after %v", err, time.Since(before))
				}
				testLog(t, log, "0 /b 200")
			})
		})
	}
}

// TestResourceWithoutPatience has a resource that is busy for a few seconds, and a caller that does
// not retry it: the request is repeated when the time has come.
func TestResourceWithoutPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c, log := newLogged(func(path string) answer {
			if path == "/busy" {
				if n++; n == 1 {
					return answer{503, "30"}
				}
			}
			return answer{200, ""}
		})
		if err := c.testList(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.testResource(t.Context(), "busy"); err != nil {
			t.Error(err)
		}
		got := log()
		if len(got) != 4 || got[1] != "0 /busy 503" || !strings.HasSuffix(got[3], "/busy 200") || strings.HasPrefix(got[3], "0 ") {
			t.Errorf("the requests are %q", got)
		}
	})
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}
