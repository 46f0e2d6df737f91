package checked

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A list is a provider and a journal that yields its elements, for any range or
// interval.
type list struct {
	resources []resourcesync.Resource
	changes   []resourcesync.Change
	since     time.Time
	err       error // at the end
}

func (l list) Resources(context.Context, resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return all(l.resources, l.err)
}

func (l list) Changes(context.Context, resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return all(l.changes, l.err)
}

func (l list) Since(context.Context) (time.Time, error) { return l.since, nil }

func all[T any](values []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// collect reads all of seq, of which only the last element may be an error.
func collect[T any](t *testing.T, seq iter.Seq2[T, error], name func(T) string) (names string, failed error) {
	t.Helper()
	for v, err := range seq {
		if failed != nil {
			t.Fatal("goes on after an error")
		}
		if failed = err; err == nil {
			names += name(v)
		}
	}
	return names, failed
}

func TestResources(t *testing.T) {
	const uri = "https://example.org/"
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		keys    string // one letter each
		err     error
		want    string
		problem string
	}{
		{name: "in order", keys: "bcd", want: "bcd"},
		{name: "none", keys: ""},
		{name: "out of order", keys: "bdc", want: "bd", problem: "contract"},
		{name: "twice", keys: "bb", want: "b", problem: "contract"},
		{name: "before the range", keys: "ab", problem: "contract"},
		{name: "after the range", keys: "dy", want: "d", problem: "contract"},
		{name: "without a usable URI", keys: "bCd", want: "bd"},
		{name: "failed", keys: "b", err: fs.ErrNotExist, want: "b", problem: "provider: file does not exist"},
		{name: "not ready", err: resourcesync.ErrNotReady, problem: resourcesync.ErrNotReady.Error()},
		{name: "ended early", ctx: ended, keys: "b", want: "b", problem: "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := list{err: tt.err}
			for _, key := range strings.Split(tt.keys, "") {
				r := resourcesync.Resource{Key: strings.ToLower(key), URI: uri + key}
				if key == "C" {
					r.URI = "relative"
				}
				l.resources = append(l.resources, r)
			}
			ctx := tt.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			var omitted []string
			omit := func(key, _ string, _ error) { omitted = append(omitted, key) }
			got, err := collect(t, Resources(ctx, l, resourcesync.Range{From: "b", To: "x"}, omit), func(r resourcesync.Resource) string { return r.Key })
			if got != tt.want || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%q, %v; want %q, %s", got, err, tt.want, tt.problem)
			}
			if errors.Is(err, fs.ErrNotExist) {
				t.Error("a provider's error would be answered 404")
			}
			if strings.Contains(tt.keys, "C") != slices.Equal(omitted, []string{"c"}) {
				t.Errorf("omitted: %q", omitted)
			}
		})
	}
}

// TestChanges has a journal whose changes are written as digits: seconds after a fixed
// time.
func TestChanges(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	for _, tt := range []struct {
		name    string
		seconds string
		change  resourcesync.ChangeType
		since   int
		want    string
		problem string
	}{
		{name: "in order", seconds: "3445", want: "3445"},
		{name: "out of order", seconds: "354", want: "35", problem: "contract"},
		{name: "at the excluded beginning", seconds: "23", problem: "contract"},
		{name: "at the Since of a host's journal", seconds: "23", since: 2, want: "23"},
		{name: "after the interval", seconds: "58", want: "5", problem: "contract"},
		{name: "of no type", seconds: "3", change: "moved", problem: "contract"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := list{since: at(tt.since)}
			for _, digit := range tt.seconds {
				c := resourcesync.Change{Type: resourcesync.Updated, Datetime: at(int(digit - '0'))}
				if c.Resource.URI = "https://example.org/a"; tt.change != "" {
					c.Type = tt.change
				}
				l.changes = append(l.changes, c)
			}
			got, err := collect(t, Changes(t.Context(), l, resourcesync.Interval{From: at(2), Until: at(7)}, nil), func(c resourcesync.Change) string {
				return c.Datetime.Format("5")
			})
			if got != tt.want || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%q, %v; want %q, %s", got, err, tt.want, tt.problem)
			}
		})
	}
}
