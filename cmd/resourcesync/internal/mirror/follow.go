package mirror

import (
	"context"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/destination"
)

// runFollow keeps the copy in step until ctx ends. The server of the callback runs until all
// subscriptions are cancelled.
func (m *mirroring) runFollow(ctx context.Context) error {
	o := &destination.FollowOptions{Every: m.every, Report: func(report *destination.Report, err error) {
		if err := m.report(report, err); err != nil {
			m.log.Warn("the copy is not up to date", "error", err)
		}
	}}
	if m.CallbackListen == "" {
		return m.Follow(ctx, o)
	}
	var err error
	if o.Callback, err = destination.NewCallback(m.CallbackURL); err != nil {
		return settings.Errorf("--callback-url: %w", err)
	}
	return m.Callback.Serve(ctx, o.Callback, m.log, func(ctx context.Context) error { return m.Follow(ctx, o) })
}
