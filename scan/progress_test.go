package scan_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/scan"
)

// An estimated folder says how much there is to scan.
type estimated struct {
	*folder
	takes time.Duration
	err   error
}

func (e estimated) Estimate(ctx context.Context) (resources, bytes int64, err error) {
	select {
	case <-time.After(e.takes):
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	return 7, 4096, e.err
}

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		name   string
		origin func(f *folder) scan.Origin
		filled bool
		of     *scan.Progress // in the report after 700 ms
		end    *scan.Progress // in the last one
	}{
		{"unknown", func(f *folder) scan.Origin { return f }, false, nil, nil},
		{"estimated", func(f *folder) scan.Origin { return estimated{f, 600 * time.Millisecond, nil} }, false, &scan.Progress{Resources: 7, Bytes: 4096}, &scan.Progress{Resources: 7, Bytes: 4096}},
		{"estimated too late", func(f *folder) scan.Origin { return estimated{f, time.Hour, nil} }, false, nil, nil},
		{"failed", func(f *folder) scan.Origin { return estimated{f, 0, errors.New("lost")} }, false, nil, nil},
		{"filled before", func(f *folder) scan.Origin { return estimated{f, 0, nil} }, true, &scan.Progress{Resources: 3}, &scan.Progress{Resources: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f := folder{began: began, takes: time.Second}
				f.set(nil, "a", "b")
				var keys []string
				if tt.filled {
					keys = []string{"a", "b", "c"}
				}
				r := newRun(t, keys...)
				var mu sync.Mutex
				var all []scan.FirstScan
				r.opts.Progress = func(p scan.FirstScan) {
					mu.Lock()
					defer mu.Unlock()
					all = append(all, p)
				}
				after := func(d time.Duration) []scan.FirstScan {
					pass(d)
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(all)
				}
				defer r.start(t, tt.origin(&f))()
				reports := after(900 * time.Millisecond)
				if len(reports) != 3 || !same(reports[2].Of, tt.of) || reports[2].Ended || reports[2].Resources != 0 || !reports[0].Began.Equal(began) {
					t.Errorf("%+v", reports)
				}
				reports = after(200 * time.Millisecond)
				last := reports[len(reports)-1]
				if !last.Ended || last.Resources != 2 || !same(last.Of, tt.end) {
					t.Errorf("at the end %+v", last)
				}
				if len(after(5*time.Minute)) != len(reports) {
					t.Error("a later scan is reported")
				}
			})
		})
	}
}

func same(a, b *scan.Progress) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
