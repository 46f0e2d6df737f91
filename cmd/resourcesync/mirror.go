package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// mirrorSource copies a Source into a folder or a bucket, or compares them.
func mirrorSource(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseMirror(args)
	if err != nil {
		return err
	}
	screen := terminal.New(stderr)
	log := newLogger(screen, c.logFormat)
	sink, closeSink, err := c.openSink(ctx)
	if err != nil {
		return settings.Errorf("%w", err)
	}
	defer closeSink()
	progress := &mirrorProgress{screen: screen, log: log, logged: time.Now()}
	d, err := destination.New(c.source, sink, c.options(log, progress.report))
	if c.audit && errors.Is(err, destination.ErrInUse) {
		return c.requestAudit(ctx, screen, stdout, func() (*destination.Destination, error) {
			return destination.New(c.source, sink, c.options(log, progress.report))
		})
	}
	if err != nil {
		return settings.Errorf("%w", err)
	}
	defer d.Close()
	if c.audit {
		return c.runAudit(ctx, d, screen, stdout)
	}
	if c.follow {
		return c.runFollow(ctx, d, log, screen, stdout)
	}
	for {
		err := c.runSync(ctx, d, screen, stdout)
		if ctx.Err() != nil {
			return nil // the next one continues
		}
		if c.every == 0 {
			return err
		}
		if err != nil {
			log.Warn("the copy is not up to date", "error", err)
		}
		if background.Sleep(ctx, c.every) != nil {
			return nil
		}
	}
}

func (c *mirrorConfig) runSync(ctx context.Context, d *destination.Destination, screen *terminal.Screen, stdout io.Writer) error {
	report, err := d.Sync(ctx)
	return c.result(report, err, screen, stdout)
}

// result prints a report, and returns an error if the copy is not up to date. A report of a run
// that could not read the Source would only hide the error, and so would the text of one in which
// nothing was copied.
func (c *mirrorConfig) result(report *destination.Report, err error, screen *terminal.Screen, stdout io.Writer) error {
	screen.Status("")
	c.warn(screen, report.Deviations, report.Deviating)
	if report.Sets == 0 && err != nil {
		err = noAnswer(err)
	}
	if report.Moved != "" && !c.json {
		fmt.Fprintf(stdout, "The Source has moved from %s to %s; %s of the copy have new URIs.\n", terminal.Printable(report.Moved), c.source, resources(report.Renamed))
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
	switch {
	case err != nil:
		return err
	case report.Held > 0:
		return fmt.Errorf("the Source does not list %s of the copy any more%s, so their deletions are held; if that is intended, run it again with --max-delete 100%%", resources(report.Held), goneText(report.Gone, true))
	case report.Failed > 0:
		return fmt.Errorf("%s could not be copied; %s", resources(report.Failed), whenAgain(report))
	case len(report.Gone) > 0:
		return errors.New(goneText(report.Gone, false))
	}
	return nil
}

// whenAgain says how to copy resources that could not be copied.
func whenAgain(report *destination.Report) string {
	var advice []string
	if p := report.Private; p.IsValid() {
		advice = append(advice, fmt.Sprintf("some are at private addresses such as %s: if the Source may lead there, run it again with --allow-addresses %s", p, netip.PrefixFrom(p.WithZone(""), p.BitLen())))
	}
	if len(report.Pauses) > 0 {
		p := report.Pauses[0]
		advice = append(advice, fmt.Sprintf("%s has asked for a pause (Retry-After), so run it again after %s", p.Host, p.Until.Format(time.RFC3339)))
	}
	if len(advice) == 0 {
		return "run it again to retry"
	}
	return strings.Join(advice, "; ")
}

// noAnswer returns the error of a run that could not read the Source at all.
func noAnswer(err error) error {
	_, dial := errors.AsType[*net.OpError](err)
	_, name := errors.AsType[*net.DNSError](err)
	timeout, ok := errors.AsType[net.Error](err)
	if dial || name || ok && timeout.Timeout() {
		return fmt.Errorf("the Source does not answer, and the copy stays as before; check the URL and the network, and run it again: %w", err)
	}
	return err
}

// goneText says which sets the Source no longer names: held ones, as part of a sentence, or
// others, with what to do.
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
		return fmt.Sprintf("the Source does not name the set %s%s any more, and its %s stay in the copy: %s", terminal.Printable(gone[0].URI), more, resources(gone[0].Resources), gone[0].Reason)
	}
	return fmt.Sprintf("the Source does not name the set %s%s any more; its %s stay in the copy until mirror has run again after %s", terminal.Printable(gone[0].URI), more, resources(gone[0].Resources), gone[0].After.Format(time.RFC3339))
}

// resources returns a number of resources as text.
func resources(n int64) string {
	if n == 1 {
		return "1 resource"
	}
	return terminal.Count(n, "resources")
}

// warn logs the rules that the documents of the Source break.
func (c *mirrorConfig) warn(screen *terminal.Screen, count int64, first []destination.Deviation) {
	if count == 0 {
		return
	}
	log := newLogger(screen, c.logFormat)
	for _, d := range first {
		log.Warn("the Source deviates from the specification", "document", d.Document, "line", d.Line, "column", d.Column, "rule", d.Rule, "section", d.Section)
	}
	log.Warn("the documents of the Source were read in spite of deviations", "deviations", count)
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
	if time.Since(p.logged) >= logEvery {
		p.logged = time.Now()
		p.log.Info("copying", "entries_read", now.Listed, "done", now.Done, "to_do", max(now.Pending, 0), "bytes_received", now.Bytes)
	}
}
