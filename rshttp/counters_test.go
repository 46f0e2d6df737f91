package rshttp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A failingStater always fails with its error.
type failingStater struct{ error }

func (b failingStater) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{}, b.error
}

// TestSetStatus: each set reports its status; a set that fails does not hide the
// others.
func TestSetStatus(t *testing.T) {
	src := newSource(t, nil,
		rshttp.Set{Name: "papers", Provider: papers(t, "a", "b")},
		rshttp.Set{Name: "table", Provider: tableOf(3)},
		rshttp.Set{Name: "failing", Provider: tableOf(1), Stater: failingStater{errors.New("no disk")}},
		rshttp.Set{Name: "journalled", Provider: tableOf(3), Stater: papers(t, "x"), Changer: papers(t, "a", "b", "c")})
	got, err := src.SetStatus(t.Context())
	if err == nil || !strings.Contains(err.Error(), `set "failing": no disk`) {
		t.Errorf("error %v", err)
	}
	second := func(n int) time.Time { return newYear.Add(time.Duration(n) * time.Second) }
	want := []rshttp.SetStatus{
		{Set: "papers", Resources: 2, Changed: second(2), Recorded: second(2)},
		{Set: "table", Resources: -1},
		{Set: "journalled", Resources: 1, Changed: second(1), Recorded: second(3)},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	unready := newSource(t, nil, rshttp.Set{Provider: memory.New(nil), Stater: failingStater{resourcesync.ErrNotReady}})
	if got, err := unready.SetStatus(t.Context()); err != nil || len(got) != 1 || got[0].Resources != -1 {
		t.Errorf("before the first scan: %+v (%v)", got, err)
	}
}
