package sqltable

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/scan"
)

var (
	_ scan.Origin     = (*Listing)(nil)
	_ scan.Binder     = (*Listing)(nil)
	_ scan.Parter     = (*Listing)(nil)
	_ scan.Watcher    = (*Listing)(nil)
	_ scan.Healther   = (*Listing)(nil)
	_ scan.Estimator  = (*Listing)(nil)
	_ scan.Progresser = (*Listing)(nil)
	_ scan.Identifier = (*Listing)(nil)
)

// watchRetry is the delay after a failure of the database.
const watchRetry = 5 * time.Second

// errSilent means that the triggers of an outbox are no longer there.
var errSilent = errors.New("the triggers of the table are missing, were altered, or are hidden from this user: create them again, or grant TRIGGER on the table")

// Bind implements [scan.Binder]. If triggers write an outbox for [ListingOptions].Triggers,
// [Listing.Watch] drains it into set. Triggers that are not those for the Table are an error.
func (l *Listing) Bind(ctx context.Context, set scan.Stored, _ func(ctx context.Context, purpose string) (scan.Stored, error)) error {
	l.set = set
	if l.triggers == "" {
		return nil
	}
	outbox, err := l.Outbox(ctx, l.triggers)
	unseen, _ := errors.AsType[*UnseenError](err)
	switch {
	case err == nil:
		l.outbox = outbox
		l.log.Info("changes are recorded by triggers", "journal", l.triggers)
	case unseen != nil:
		l.logUnseen(ctx, unseen)
		l.log.Info("changes are found by comparison", "triggers", "none that this user can see")
	case errors.Is(err, ErrNoTriggers):
		l.log.Info("changes are found by comparison", "triggers", "none for the set "+l.triggers)
	default:
		return err
	}
	return nil
}

// Watch implements [scan.Watcher]: it drains the outbox until ctx ends. Changes that cannot be
// read or applied stay in the outbox. Every ten seconds, it checks that the triggers exist.
// Without an outbox, it waits.
func (l *Listing) Watch(ctx context.Context, changed func(paths []string)) error {
	changed(nil)
	if l.outbox == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, f := range []func() error{
		func() error { return l.drainAll(ctx) },
		func() error { return l.watchTriggers(ctx, changed) },
	} {
		g.Go(func() error { return background.Safely(f) })
	}
	return g.Wait()
}

// drainAll drains the outbox until ctx ends.
func (l *Listing) drainAll(ctx context.Context) error {
	for {
		err := l.outbox.Watch(ctx, func() {
			l.note(ctx, "changes that triggers have recorded cannot be applied; they stay recorded", l.drain(ctx))
		})
		for err != nil {
			l.note(ctx, "changes that triggers have recorded cannot be read", err)
			if err := background.Sleep(ctx, watchRetry); err != nil {
				return err
			}
			err = l.drain(ctx)
		}
		l.note(ctx, "", nil)
	}
}

// watchTriggers looks for the triggers until ctx ends.
func (l *Listing) watchTriggers(ctx context.Context, changed func(paths []string)) error {
	for {
		if err := background.Sleep(ctx, proveInterval); err != nil {
			return err
		}
		l.checkTriggers(ctx, changed)
	}
}

// checkTriggers logs that the triggers are gone. Once they are back, it calls changed(nil),
// because the outbox lacks the changes from in between. A failure of the database is left to
// the goroutine that drains the outbox.
func (l *Listing) checkTriggers(ctx context.Context, changed func(paths []string)) {
	found, err := l.outbox.hasTriggers(ctx)
	if err != nil {
		return
	}
	switch before := l.silent.Swap(!found); {
	case found && before:
		l.log.Info("triggers record changes again; a comparison finds the others")
		changed(nil)
	case !found && !before:
		l.log.Error("changes are not recorded, so only comparisons find them", "error", errSilent)
	}
}

func (l *Listing) drain(ctx context.Context) error {
	_, err := l.outbox.Drain(ctx, l.set)
	if errors.Is(err, resourcesync.ErrScanning) || errors.Is(err, resourcesync.ErrNotReady) {
		return nil // the next poll drains it
	}
	return err
}

// note logs a failure to drain the outbox, and its end, and keeps it for Health.
func (l *Listing) note(ctx context.Context, message string, err error) {
	if ctx.Err() != nil {
		return
	}
	before := l.trouble.Swap(&err)
	switch known := before != nil && *before != nil; {
	case err == nil && known:
		l.log.Info("changes that triggers have recorded are applied again")
	case err != nil && (!known || (*before).Error() != err.Error()): // a repeated error is logged once
		l.log.Error(message, "error", err)
	}
}

// Health implements [scan.Healther]: it returns the error of the last attempt to drain the
// outbox, or that its triggers are missing.
func (l *Listing) Health() error {
	if err := l.trouble.Load(); err != nil && *err != nil {
		return *err
	}
	if l.silent.Load() {
		return errSilent
	}
	return nil
}

// Unseen returns the outbox that the role may not drain, or nil. Complete readings look again.
func (l *Listing) Unseen() *UnseenError { return l.unseen.Load() }

// checkUnseen looks again at an outbox that the role may not drain.
func (l *Listing) checkUnseen(ctx context.Context) {
	if l.unseen.Load() == nil {
		return
	}
	_, err := l.Outbox(ctx, l.triggers)
	if unseen, ok := errors.AsType[*UnseenError](err); ok {
		l.logUnseen(ctx, unseen)
	}
}

// logUnseen logs that the outbox of the table may not be drained, once for each change that
// is the first to wait.
func (l *Listing) logUnseen(ctx context.Context, unseen *UnseenError) {
	if before := l.unseen.Swap(unseen); before != nil && before.Since.Equal(unseen.Since) && before.Hidden == unseen.Hidden {
		return
	}
	level := slog.LevelWarn
	if unseen.Hidden { // there may be no triggers
		level = slog.LevelInfo
	}
	l.log.Log(ctx, level, "changes that triggers record are not read", "outbox", unseen.Outbox, "because", unseen.Error())
}

// Estimate implements [scan.Estimator]. It counts the rows.
func (l *Listing) Estimate(ctx context.Context) (resources, bytes int64, err error) {
	resources, err = l.count(ctx)
	return resources, 0, err
}

// Progress implements [scan.Progresser].
func (l *Listing) Progress() scan.Progress {
	return scan.Progress{Resources: l.listed.Load(), Skipped: l.Omitted().Rows}
}

// Identity implements [scan.Identifier].
func (l *Listing) Identity() scan.Identity {
	return scan.Identity{Name: l.name, URIs: l.p.rel.table.URI}
}
