package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/verdict"
)

// A checkConfig is the command line of check.
type checkConfig struct {
	target string

	requestSettings
	callbackSettings
	all         bool
	force       string
	format      string
	harm        string
	ignore      list
	maxResource size
	pause       span
	sample      int
}

func checkFlags(c *checkConfig) *flag.FlagSet {
	flags := newFlags("check")
	c.requestSettings.flags(flags)
	c.callbackSettings.flags(flags)
	flags.BoolVar(&c.all, "all", false, "")
	flags.StringVar(&c.format, "format", "text", "")
	flags.StringVar(&c.harm, "harm", string(check.Advice), "")
	flags.Var(repeated(c.ignore.add), "ignore", "")
	flags.StringVar(&c.force, "level", string(check.None), "")
	c.maxResource = 1 << 30
	flags.Var(&c.maxResource, "max-resource", "")
	c.pause = span(2 * time.Second)
	flags.Var(&c.pause, "pause", "")
	flags.IntVar(&c.sample, "sample", 50, "")
	return flags
}

func parseCheck(args []string) (checkConfig, error) {
	var c checkConfig
	flags := checkFlags(&c)
	others, err := parse(flags, args)
	switch {
	case err != nil:
	case len(others) != 1:
		err = errors.New("give the URL of a Source, or a file: a document or a package, as in: resourcesync check https://example.org/")
	case c.sample < 0:
		err = errors.New("--sample: give the number of resources, or 0 for none")
	case c.maxResource < 1:
		err = errors.New("--max-resource: give a size of at least a byte, such as 4GiB")
	case c.pause < 0:
		err = errors.New("--pause: give a time such as 5s, or 0 to read nothing twice")
	case !slices.Contains(verdict.Formats(), c.format):
		err = fmt.Errorf("--format %q: give one of %s", c.format, strings.Join(verdict.Formats(), ", "))
	case !slices.Contains(check.Harms(), check.Harm(c.harm)):
		err = fmt.Errorf("--harm %q: give the least harm of findings to show: one of %s", c.harm, joined(check.Harms()))
	case !slices.Contains(check.Forces(), check.Force(c.force)):
		err = fmt.Errorf("--level %q: give the weakest force of findings to show: one of %s", c.force, joined(check.Forces()))
	default:
		c.target = others[0]
		err = cmp.Or(checkSourceURL(c.target), c.requestSettings.check(), c.callbackSettings.check())
	}
	return c, refuse("check", err)
}

// joined returns words for people.
func joined[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, w := range all {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// options returns the options of the check.
func (c *checkConfig) options(progress func(check.Progress)) *check.Options {
	o := &check.Options{
		Sample: c.sample, All: c.all, Pause: time.Duration(c.pause), Rate: c.rate, Concurrency: c.concurrency,
		Allow: c.addresses, MaxContent: int64(c.maxResource), IgnoreRobots: c.ignoreRobots, Progress: progress,
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

// couldNotCheck is the exit status if there is no verdict, as that of grep and diff is: exit
// status 1 means that the check found an error or a broken must.
const couldNotCheck = 2

// run checks the target, with a callback if there are the flags for one.
func (c *checkConfig) run(ctx context.Context, log *slog.Logger, o *check.Options) (report *check.Report, err error) {
	if c.callbackListen == "" {
		return check.Check(ctx, c.target, o)
	}
	if o.Callback, err = check.NewCallback(c.callbackURL); err != nil {
		return nil, fmt.Errorf("--callback-url: %w", err)
	}
	err = c.serve(ctx, o.Callback, log, func(ctx context.Context) (err error) {
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
	report, err := c.run(ctx, newLogger(screen, "text"), c.options(func(p check.Progress) {
		screen.Status(fmt.Sprintf("Checking: %s documents, %s entries, %s resources, %s", humanize.Comma(p.Documents), humanize.Comma(p.Entries), humanize.Comma(p.Resources), p.Current))
	}))
	screen.Status("")
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted before the end of the check")
		}
		return statusError{err, couldNotCheck}
	}
	if err := verdict.Write(stdout, c.format, report); err != nil {
		return statusError{err, couldNotCheck}
	}
	if !report.OK() {
		return fmt.Errorf("the check of %s found %s", c.target, verdict.Summary(report))
	}
	return nil
}
