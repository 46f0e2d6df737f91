// Package mirror copies a Source into a folder or a bucket, and reports the status of the copy.
package mirror

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/operators"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

// Run copies a Source into a folder or a bucket, or compares them.
func (c *Config) Run(ctx context.Context, stdout, stderr io.Writer) error {
	screen := terminal.New(stderr)
	log := terminal.NewLogger(screen, c.logFormat)
	var atStatus net.Listener
	if c.status != "" {
		var err error
		if atStatus, err = operators.Listen(c.status); err != nil {
			return err
		}
		defer atStatus.Close()
	}
	sink, closeSink, err := c.openSink(ctx)
	if err != nil {
		return settings.Errorf("%w", err)
	}
	defer closeSink()
	progress := &mirrorProgress{screen: screen, log: log, logged: time.Now()}
	d, err := destination.New(c.Source, sink, c.options(log, progress.report))
	if c.audit && errors.Is(err, destination.ErrInUse) {
		return c.requestAudit(ctx, screen, stdout, func() (*destination.Destination, error) {
			return destination.New(c.Source, sink, c.options(log, progress.report))
		})
	}
	if err != nil {
		return settings.Errorf("%w", err)
	}
	defer d.Close()
	if c.audit {
		return c.runAudit(ctx, d, screen, stdout)
	}
	m := &mirroring{Config: c, Destination: d, log: log, screen: screen, stdout: stdout}
	switch {
	case c.status != "":
		return m.withStatus(ctx, atStatus, m.run)
	case c.follow || c.every > 0:
		return m.run(ctx)
	}
	err = m.sync(ctx)
	if ctx.Err() != nil {
		return nil // the next one continues
	}
	return err
}

// A mirroring is a running command.
type mirroring struct {
	*Config
	*destination.Destination
	log    *slog.Logger
	screen *terminal.Screen
	stdout io.Writer

	metrics *copyMetrics              // nil without --status
	next    atomic.Pointer[time.Time] // of the next run without Follow
	failure atomic.Pointer[string]    // why the last run has failed, and what to do
}

// run keeps the copy in step until ctx ends.
func (m *mirroring) run(ctx context.Context) error {
	if m.follow {
		return m.runFollow(ctx)
	}
	for {
		m.next.Store(new(time.Now().Add(m.every)))
		if err := m.sync(ctx); err != nil && ctx.Err() == nil {
			m.log.Warn("the copy is not up to date", "error", err)
		}
		m.next.Store(new(time.Now().Add(m.every)))
		if background.Sleep(ctx, m.every) != nil {
			return nil // the next process continues
		}
	}
}

func (m *mirroring) sync(ctx context.Context) error { return m.report(m.Destination.Sync(ctx)) }

// report prints a report, and returns an error if the copy is not up to date.
func (m *mirroring) report(report *destination.Report, err error) error {
	if m.metrics != nil {
		m.metrics.count(report)
	}
	if report.Sets == 0 && err != nil {
		err = m.noAnswer(err)
	}
	if err != nil {
		m.failure.Store(new(err.Error()))
	}
	return m.Result(report, err, m.screen, m.stdout)
}

// Result prints a report, and returns an error if the copy is not up to date. It prints no report
// if the run could not read the Source, and no text if nothing was copied, because these would
// only hide the error.
func (c *Config) Result(report *destination.Report, err error, screen *terminal.Screen, stdout io.Writer) error {
	screen.Status("")
	c.warn(screen, report.Deviations, report.Deviating)
	if report.Moved != "" && !c.json {
		fmt.Fprintf(stdout, "The Source has moved from %s to %s; %s of the copy have new URIs.\n", terminal.Printable(report.Moved), c.Source, resources(report.Renamed))
	}
	switch {
	case report.Sets == 0 && err != nil && len(report.Pauses) == 0:
	case c.json:
		err = errors.Join(err, json.NewEncoder(stdout).Encode(report))
	case err == nil || report.Created+report.Updated+report.Deleted+report.Adopted > 0:
		if c.rebuild {
			fmt.Fprintf(stdout, "%s adopted: their files have the contents of the Source.\n", resources(report.Adopted))
		}
		fmt.Fprintf(stdout, "%s created, %s updated, %s deleted; the copy has %s, %s.\n",
			humanize.Comma(report.Created), humanize.Comma(report.Updated), humanize.Comma(report.Deleted), resources(report.Resources), terminal.Bytes(report.Bytes))
		if report.Unverifiable > 0 {
			fmt.Fprintf(stdout, "%s cannot be verified: the Source states no times or hashes that would show a change, so each run requests them.\n", resources(report.Unverifiable))
		}
	}
	if problems := c.problems(report); err == nil && len(problems) > 0 {
		return errors.New(problems[0])
	}
	return err
}

// problems returns the reasons why a copy is not up to date after a run that has read the
// Source.
func (c *Config) problems(report *destination.Report) (all []string) {
	if report.Held > 0 {
		all = append(all, fmt.Sprintf("the Source no longer lists %s of the copy%s, so their deletions are held; if that is intended, run it again with --max-delete 100%%", resources(report.Held), goneText(report.Gone, true)))
	}
	if report.Failed > 0 {
		all = append(all, fmt.Sprintf("%s could not be copied; %s", resources(report.Failed), c.whenAgain(report)))
	}
	if text := goneText(report.Gone, false); text != "" {
		all = append(all, text)
	}
	return all
}

// whenAgain says how to retry resources that could not be copied.
func (c *Config) whenAgain(report *destination.Report) string {
	var advice []string
	if p := report.Private; p.IsValid() {
		advice = append(advice, fmt.Sprintf("some are at private addresses such as %s: if the Source may lead there, run it again with --allow-addresses %s", p, netip.PrefixFrom(p.WithZone(""), p.BitLen())))
	}
	if len(report.Pauses) > 0 {
		p := report.Pauses[0]
		advice = append(advice, fmt.Sprintf("%s has asked for a pause (Retry-After), so run it again after %s", p.Host, timetext.Of(p.Until)))
	}
	switch {
	case len(advice) > 0:
	case c.follow || c.every > 0:
		return "the next run tries again"
	default:
		return "run it again to retry"
	}
	return strings.Join(advice, "; ")
}

// noAnswer returns the error of a run that could not read the Source at all.
func (c *Config) noAnswer(err error) error {
	again := ", and run it again"
	if c.follow || c.every > 0 {
		again = "; the next run tries again"
	}
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("the certificate of the Source cannot be trusted, and the copy stays as before (%w); ask the operator of the Source to renew it, or add the certificate of its authority to those that this system trusts%s", refused, again)
	}
	if webclient.NoAnswer(err) != "" {
		return fmt.Errorf("the Source does not answer, and the copy stays as before; check the URL and the network%s: %w", again, err)
	}
	return err
}

// goneText says which sets the Source no longer names: held ones, as part of a sentence, or
// the others, with a remedy.
func goneText(gone []destination.GoneSet, held bool) string {
	gone = slices.DeleteFunc(slices.Clone(gone), func(g destination.GoneSet) bool { return g.Held != held })
	more := ""
	if len(gone) > 1 {
		more = fmt.Sprintf(" and %s", terminal.Count(int64(len(gone)-1), "other sets"))
	}
	switch {
	case len(gone) == 0:
		return ""
	case held:
		return fmt.Sprintf(", including all of the set %s%s", terminal.Printable(gone[0].URI), more)
	case gone[0].After.IsZero():
		return fmt.Sprintf("the Source no longer names the set %s%s, and its %s stay in the copy: %s", terminal.Printable(gone[0].URI), more, resources(gone[0].Resources), gone[0].Reason)
	}
	return fmt.Sprintf("the Source no longer names the set %s%s; its %s stay in the copy until mirror has run again after %s", terminal.Printable(gone[0].URI), more, resources(gone[0].Resources), timetext.Of(gone[0].After))
}

// resources formats a number of resources.
func resources(n int64) string {
	if n == 1 {
		return "1 resource"
	}
	return terminal.Count(n, "resources")
}

// warn logs the rules that the documents of the Source break.
func (c *Config) warn(screen *terminal.Screen, count int64, first []destination.Deviation) {
	if count == 0 {
		return
	}
	log := terminal.NewLogger(screen, c.logFormat)
	for _, d := range first {
		log.Warn("the Source deviates from the specification", "document", d.Document, "line", d.Line, "column", d.Column, "rule", d.Rule, "section", d.Section)
	}
	if more := count - int64(len(first)); more > 0 {
		log.Warn("the Source deviates from the specification in further places", "deviations", more)
	}
}

// A mirrorProgress reports progress: on a terminal continuously, otherwise once a minute
// in the log.
type mirrorProgress struct {
	screen *terminal.Screen
	log    *slog.Logger
	logged time.Time
}

func (p *mirrorProgress) report(now destination.Progress) {
	if p.screen.Control {
		p.screen.Status(fmt.Sprintf("Copying: %s of %s done, %s received, %s entries read",
			humanize.Comma(now.Done), humanize.Comma(now.Done+max(now.Pending, 0)), terminal.Bytes(now.Bytes), humanize.Comma(now.Listed)))
		return
	}
	if time.Since(p.logged) >= terminal.LogEvery {
		p.logged = time.Now()
		p.log.Info("copying", "entries_read", now.Listed, "done", now.Done, "to_do", max(now.Pending, 0), "bytes_received", now.Bytes)
	}
}
