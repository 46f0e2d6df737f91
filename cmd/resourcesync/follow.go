package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
)

// runFollow keeps the copy in step until ctx ends. The server of the callback runs until all
// subscriptions are cancelled.
func (c *mirrorConfig) runFollow(ctx context.Context, d *destination.Destination, log *slog.Logger, screen *terminal.Screen, stdout io.Writer) error {
	o := &destination.FollowOptions{Every: time.Duration(c.every), Report: func(report *destination.Report, err error) {
		if err := c.result(report, err, screen, stdout); err != nil {
			log.Warn("the copy is not up to date", "error", err)
		}
	}}
	if c.callbackListen == "" {
		return d.Follow(ctx, o)
	}
	var err error
	if o.Callback, err = destination.NewCallback(c.callbackURL); err != nil {
		return usagef("--callback-url: %w", err)
	}
	listener, err := net.Listen("tcp", c.callbackListen)
	if err != nil {
		return usagef("--callback-listen: %w", err)
	}
	following, end := context.WithCancel(ctx)
	defer end()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var failed error
	var running sync.WaitGroup
	running.Go(func() {
		failed = (&server{listener: listener, handler: o.Callback}).run(serving, log)
		end()
	})
	err = d.Follow(following, o)
	stop()
	running.Wait()
	if err == nil {
		err = failed
	}
	return err
}
