package destination

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

const (
	// patience is the time for which a run may wait because of single resources.
	patience = 10 * time.Minute

	// comebacks is the number of times that a run comes back to delayed resources.
	comebacks = 3
)

// patient returns a context in which the run waits no longer than it may because of single
// resources.
func (r *run) patient(ctx context.Context) context.Context {
	r.patience = fetch.NewPatience(patience)
	return fetch.WithPatience(ctx, r.patience)
}

// comeBack waits for resources whose servers have asked for a later request, as long as the run
// may, and requests them again.
func (r *run) comeBack(ctx context.Context) error {
	for range comebacks {
		if err := r.applyDelayed(ctx); err != nil {
			return err
		}
		until, err := r.state.LastDelayed(r.patience.Left())
		if err != nil || until.IsZero() || !r.patience.Allow(until) {
			return err
		}
		if err := background.Sleep(ctx, time.Until(until)); err != nil {
			return err
		}
	}
	return r.applyDelayed(ctx)
}

// applyDelayed applies the pending changes whose time has come.
func (r *run) applyDelayed(ctx context.Context) error {
	return r.applyAll(ctx, 0, func(after int64) ([]state.Pending, error) {
		return r.state.PendingDelayed(after, applyBatch)
	})
}

// tellDelays adds the resources and hosts that are not requested before a time to the report, and
// records the hosts for the next process.
func (r *run) tellDelays() error {
	delays, err := r.state.Delays(samples)
	if err != nil {
		return err
	}
	for _, d := range delays {
		if r.report.add(Failure{URI: d.URI, Error: d.Error, Next: d.Until}) {
			r.log.Warn("a resource is not requested yet", "uri", sparse.Clip(d.URI), "next", d.Until, "error", d.Error)
		}
	}
	pauses := r.client.Pauses()
	for _, p := range pauses[:min(len(pauses), samples)] {
		r.report.Pauses = append(r.report.Pauses, Pause{p.Host, p.Until.UTC().Truncate(time.Second).Add(time.Second)})
	}
	if len(pauses) == 0 && !r.paused {
		return nil
	}
	r.paused = len(pauses) > 0
	return r.state.Write(context.Background(), func() error { return r.state.SavePauses(pauses) })
}

// resumePauses makes the client keep the pauses that another process has recorded.
func (d *Destination) resumePauses() error {
	pauses, err := d.state.Pauses()
	for _, p := range pauses {
		err = errors.Join(err, d.client.Pause(p))
	}
	d.paused = len(pauses) > 0
	return err
}
