package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/operators"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

// showStatus prints the status of a running serve, proxy or mirror. It fails if there are
// problems.
func showStatus(ctx context.Context, args []string, stdout, _ io.Writer) error {
	var c queryConfig
	catalog := new(settings.Catalog)
	c.declare(catalog)
	args, err := parse(catalog, args)
	if err != nil {
		return refuse("status", err)
	}
	if len(args) > 1 {
		return settings.Errorf("status: only one address can be queried: unexpected argument %q", args[1])
	}
	at := append(args, operators.DefaultAddress)[0]
	body, err := operators.Query(ctx, at)
	if err != nil {
		return err
	}
	var kind struct{ Copy json.RawMessage }
	var s interface {
		Print(*terminal.Screen, time.Time) error
		HasProblems() bool
	} = new(status.Status)
	unhealthy := errUnhealthy
	err = json.Unmarshal(body, &kind)
	if kind.Copy != nil {
		s, unhealthy = new(status.CopyStatus), errCopyUnhealthy
	}
	if err == nil {
		err = json.Unmarshal(body, s)
	}
	if err != nil {
		return fmt.Errorf("the status at %s cannot be read: %w; does the server run another version?", at, err)
	}
	if c.json {
		_, err = stdout.Write(body)
	} else {
		err = s.Print(terminal.New(stdout), time.Now())
	}
	if err == nil && s.HasProblems() {
		err = unhealthy
	}
	return err
}

var (
	errUnhealthy     = errors.New("the Source has problems; docs/operations/troubleshoot.md says what to do about them")
	errCopyUnhealthy = errors.New("the copy has problems; docs/mirror.md says what to do about them")
)

type queryConfig struct{ json bool }

func (q *queryConfig) declare(c *settings.Catalog) {
	c.Add(settings.Setting{Name: "json", Value: settings.Bool(&q.json),
		Text: "Print the JSON that ADDRESS serves to programs."})
}
