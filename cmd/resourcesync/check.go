package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/requests"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/verdict"
)

// A checkConfig is the command line of check.
type checkConfig struct {
	target string

	requests.Settings
	requests.Callback
	all         bool
	force       string
	format      string
	harm        string
	ignore      []string
	maxResource int64
	pause       time.Duration
	sample      int
}

func (k *checkConfig) declare(c *settings.Catalog) {
	k.Settings.Declare(c)
	k.Callback.Declare(c)
	c.Add(
		settings.Setting{Name: "all", Value: settings.Bool(&k.all),
			Text: "Compare all resources and all packages with their entries, not only a sample."},
		settings.Setting{Name: "format", Value: settings.Choice(&k.format, verdict.Formats()...), Default: "text",
			Text: "The format of the report: text, json, junit, html or sarif."},
		settings.Setting{Name: "harm", Value: settings.Choice(&k.harm, textsOf(check.Harms())...), Default: "advice",
			Text: `Omit findings of less harm than this: error, warning or advice. They do not count for the exit
				status either.`},
		settings.Setting{Name: "ignore", Value: settings.List(&k.ignore),
			Text: `A rule whose findings are omitted, such as no-gzip. They do not count for the exit status either.`},
		settings.Setting{Name: "level", Value: settings.Choice(&k.force, textsOf(check.Forces())...), Default: "none",
			Text: `Omit findings of less force than this: must, should, may or none. They do not count for the exit
				status either.`},
		settings.Setting{Name: "max-resource", Value: settings.Size(&k.maxResource), Default: "1GiB", Group: settings.Limits,
			Text: "The maximum size of a resource or package that is requested, such as 4GiB."},
		settings.Setting{Name: "pause", Value: settings.Span(&k.pause), Default: "2s",
			Text: "The minimum time between two readings of a document. With 0, nothing is read twice."},
		settings.Setting{Name: "sample", Value: settings.Int(&k.sample), Default: "50",
			Text: `The number of resources, chosen at random, that are compared with their entries. 0 compares none.`},
	)
	c.Change(settings.Setting{Name: "callback-listen",
		Text: "The address and port at which WebSub hubs verify a subscription, such as :8090."})
	c.Change(settings.Setting{Name: "callback-url",
		Text: `The URL at which hubs reach --callback-listen, such as https://monitor.example.org/callback/. It
			may be that of a reverse proxy.`})
}

func parseCheck(args []string) (*checkConfig, error) {
	k, c := new(checkConfig), new(settings.Catalog)
	k.declare(c)
	others, err := parse(c, args)
	if err == nil && len(others) != 1 {
		err = errors.New("give the URL of a Source, or a file: a document or a package, as in: resourcesync check https://example.org/")
	}
	if err == nil {
		k.target = others[0]
		err = c.Locate(k.check())
	}
	return k, refuse("check", err)
}

func (k *checkConfig) check() error {
	var f settings.Faults
	f.If(k.sample < 0, "sample", "give the number of resources, or 0 for none")
	f.If(k.maxResource < 1, "max-resource", "give a size of at least a byte, such as 4GiB")
	f.If(k.pause < 0, "pause", "give a time such as 5s, or 0 to read nothing twice")
	f.Add(requests.CheckURL(k.target), k.Settings.Check(), k.Callback.Check())
	return f.Err()
}

// textsOf returns the texts of words.
func textsOf[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, w := range all {
		texts[i] = string(w)
	}
	return texts
}

// options returns the options of the check.
func (c *checkConfig) options(progress func(check.Progress)) *check.Options {
	o := &check.Options{
		Sample: c.sample, All: c.all, Pause: c.pause, Rate: c.Rate, Concurrency: c.Concurrency,
		Allow: c.Addresses, MaxContent: c.maxResource, IgnoreRobots: c.IgnoreRobots, Progress: progress,
		Harm: check.Harm(c.harm), Force: check.Force(c.force), Ignore: c.ignore,
	}
	if o.Sample == 0 {
		o.Sample = -1 // zero is the default
	}
	if o.Pause == 0 {
		o.Pause = -1
	}
	return o
}

// couldNotCheck is the exit status without a verdict, as in grep and diff: exit status 1
// means that the check found an error or a broken must.
const couldNotCheck = 2

// run checks the target, with a callback if its flags are given.
func (c *checkConfig) run(ctx context.Context, log *slog.Logger, o *check.Options) (report *check.Report, err error) {
	if c.CallbackListen == "" {
		return check.Check(ctx, c.target, o)
	}
	if o.Callback, err = check.NewCallback(c.CallbackURL); err != nil {
		return nil, fmt.Errorf("--callback-url: %w", err)
	}
	err = c.Serve(ctx, o.Callback, log, func(ctx context.Context) (err error) {
		report, err = check.Check(ctx, c.target, o)
		return err
	})
	return report, err
}

// checkSource judges a Source.
func checkSource(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseCheck(args)
	if err != nil {
		return err
	}
	screen := terminal.New(stderr)
	report, err := c.run(ctx, terminal.NewLogger(screen, "text"), c.options(func(p check.Progress) {
		screen.Status(fmt.Sprintf("Checking: %s documents, %s entries, %s resources, %s", humanize.Comma(p.Documents), humanize.Comma(p.Entries), humanize.Comma(p.Resources), p.Current))
	}))
	screen.Status("")
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted before the end of the check")
		}
		return exit.With(err, couldNotCheck)
	}
	if err := verdict.Write(stdout, c.format, report); err != nil {
		return exit.With(err, couldNotCheck)
	}
	if !report.OK() {
		return fmt.Errorf("the check of %s found %s", c.target, verdict.Summary(report))
	}
	return nil
}
