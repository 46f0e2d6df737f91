package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
)

// runFollow keeps the copy in step until ctx ends. The server of the callback runs until all
// subscriptions are cancelled.
func (c *mirrorConfig) runFollow(ctx context.Context, d *destination.Destination, log *slog.Logger, screen *terminal.Screen, stdout io.Writer) error {
	o := &destination.FollowOptions{Every: c.every, Report: func(report *destination.Report, err error) {
		if err := c.result(report, err, screen, stdout); err != nil {
			log.Warn("the copy is not up to date", "error", err)
		}
	}}
	if c.callbackListen == "" {
		return d.Follow(ctx, o)
	}
	var err error
	if o.Callback, err = destination.NewCallback(c.callbackURL); err != nil {
		return settings.Errorf("--callback-url: %w", err)
	}
	return c.callbackSettings.serve(ctx, o.Callback, log, func(ctx context.Context) error { return d.Follow(ctx, o) })
}
