package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A mirrorConfig is the command line of mirror.
type mirrorConfig struct {
	source, folder string // folder may be the URL of a bucket
	state          string // the folder of the state of a copy in a bucket

	requestSettings
	copyLimits
	callbackSettings
	audit, json, follow     bool
	moved, rebuild, replace bool
	maxDelete               float64
	every                   time.Duration
	dumps, logFormat, only  string
}

func (m *mirrorConfig) declare(c *settings.Catalog) {
	m.requestSettings.declare(c)
	m.copyLimits.declare(c)
	m.callbackSettings.declare(c)
	c.Add(
		settings.Setting{Name: "audit", Value: settings.Bool(&m.audit),
			Text: `Compare the copy with the Source and with the contents received, and change nothing. The next run
				without --audit repairs the differences. While another process follows the Source, that process
				audits and repairs.`},
		settings.Setting{Name: "every", Value: settings.Span(&m.every), Default: "0",
			Text: `Keep running, and update the copy at this interval, such as 15m. With 0, update it once and exit,
				or every 15 minutes with --follow.`},
		settings.Setting{Name: "follow", Value: settings.Bool(&m.follow),
			Text: "Keep running, and receive changes when the Source sends them."},
		settings.Setting{Name: "json", Value: settings.Bool(&m.json), Group: settings.Logs,
			Text: "Print the result as JSON."},
		settings.Setting{Name: "log-format", Value: settings.Choice(&m.logFormat, "text", "json"), Default: "text", Group: settings.Logs,
			Text: "The format of log messages: text or json."},
		settings.Setting{Name: "max-delete", Value: settings.Percent(&m.maxDelete), Default: "25%",
			Text: `The share of the copy that is deleted because Resource Lists do not list it any more. More
				deletions are held, because a broken Source looks the same. One or two are never held, unless
				nothing would be left. The resources of a set that the Source does not name any more are held,
				whatever their number. 100% holds nothing. Deletions in Change Lists are always followed.`},
		settings.Setting{Name: "moved", Value: settings.Bool(&m.moved), Group: settings.State,
			Text: `Continue a copy whose Source has another URL now. The Source must list resources of the copy, or
				the run fails. They get their new URIs and keep their files, and only those that differ are
				requested.`},
		settings.Setting{Name: "only", Value: settings.Text(&m.only), Without: "none; all lists of the Source are copied", Group: settings.Lists,
			Text: `Restrict a new copy to the Resource List or Resource Dump at this URL, and to the Change Lists and
				dumps of its set. Later runs need not repeat the flag.`},
		settings.Setting{Name: "rebuild", Value: settings.Bool(&m.rebuild), Group: settings.State,
			Text: `Make a damaged or lost state again. A file in the place of a resource whose content is that of the
				Source is adopted; it is requested only if the Source lists no hash. Others are named, and stay. A
				damaged state is put aside.`},
		settings.Setting{Name: "replace", Value: settings.Bool(&m.replace), Group: settings.State,
			Text: "With --rebuild, replace files in the places of resources whose contents differ."},
		settings.Setting{Name: "state-folder", Value: settings.Text(&m.state), Without: "none; the state of a copy in a folder is in that folder", Group: settings.State, Offer: completion.Values{Folders: true},
			Text: "The folder of this computer with the state of a copy in a bucket."},
		settings.Setting{Name: "use-dumps", Value: settings.Choice(&m.dumps, "auto", "always", "never"), Default: "auto", Group: settings.Dumps,
			Text: `Whether Resource Dumps and Change Dumps are used. With auto, a package is downloaded if that costs
				less than requests for the needed resources in it; with always, whenever it has a needed resource;
				with never, not at all.`},
	)
}

func parseMirror(args []string) (*mirrorConfig, error) {
	m, c := new(mirrorConfig), new(settings.Catalog)
	m.declare(c)
	others, err := parse(c, args)
	if err == nil && len(others) != 2 {
		err = errors.New("give the URL of a Source and the folder or bucket for the copy, as in: resourcesync mirror https://example.org/ copy")
	}
	if err == nil {
		m.source, m.folder = others[0], others[1]
		err = c.Locate(m.check())
	}
	return m, refuse("mirror", err)
}

func (m *mirrorConfig) check() error {
	var f settings.Faults
	f.If(m.every < 0 || m.every > 0 && m.every < time.Second, "every", "give a time of at least a second, such as 15m")
	f.If(m.audit && (m.every > 0 || m.follow), "audit", "excludes --every and --follow")
	f.If(m.moved && (m.audit || m.rebuild), "moved", "excludes --audit and --rebuild")
	f.If(m.rebuild && (m.audit || m.every > 0 || m.follow), "rebuild", "excludes --audit, --every and --follow")
	f.If(m.replace && !m.rebuild, "replace", "needs --rebuild")
	f.If(m.callbackListen != "" && !m.follow, "callback-listen", "needs --follow")
	f.If(m.callbackURL != "" && !m.follow, "callback-url", "needs --follow")
	f.If(m.only != "" && checkSourceURL(m.only) != nil, "only", "give the URL of a list, such as https://example.org/resourcelist.xml")
	f.Add(checkSourceURL(m.source), m.requestSettings.check(), m.callbackSettings.check(), m.checkState())
	return f.Err()
}

// options returns the options of the Destination.
func (c *mirrorConfig) options(log *slog.Logger, progress func(destination.Progress)) *destination.Options {
	o := &destination.Options{
		State: c.state,
		Allow: c.addresses, Rate: c.rate, Concurrency: c.concurrency, IgnoreRobots: c.ignoreRobots,
		MaxResource: c.maxResource, MaxBytes: c.maxSize, MaxState: c.maxState, MaxDelete: c.maxDelete,
		Moved: c.moved, Rebuild: c.rebuild, Replace: c.replace,
		Progress: progress, Logger: log,
	}
	o.Only = c.only
	if c.dumps != "auto" {
		o.Dumps = destination.Dumps(c.dumps)
	}
	if o.MaxDelete == 0 {
		o.MaxDelete = math.SmallestNonzeroFloat64 // zero is the default
	}
	return o
}

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

// goneText says which sets the Source does not name any more: held ones, as part of a sentence, or
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

// requestAudit lets the process that follows the Source audit. If that ends, this one does.
func (c *mirrorConfig) requestAudit(ctx context.Context, screen *terminal.Screen, stdout io.Writer, open func() (*destination.Destination, error)) error {
	request, err := destination.NewAuditRequest(cmp.Or(c.state, filepath.Join(c.folder, ".resourcesync")))
	if err != nil {
		return err
	}
	defer request.Close()
	for {
		wait, stop := context.WithTimeout(ctx, retryState)
		a, err := request.Await(wait)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			return c.auditResult(a, err, screen, stdout)
		}
		d, err := open()
		if err == nil {
			defer d.Close()
			return c.runAudit(ctx, d, screen, stdout)
		}
		if !errors.Is(err, destination.ErrInUse) {
			return settings.Errorf("%w", err)
		}
	}
}

// retryState is the interval at which an audit tries to use the state of another process itself.
const retryState = 10 * time.Second

func (c *mirrorConfig) runAudit(ctx context.Context, d *destination.Destination, screen *terminal.Screen, stdout io.Writer) error {
	a, err := d.Audit(ctx)
	return c.auditResult(a, err, screen, stdout)
}

// auditResult prints the report of an audit, and returns an error if the copy differs.
func (c *mirrorConfig) auditResult(a *destination.AuditReport, err error, screen *terminal.Screen, stdout io.Writer) error {
	screen.Status("")
	if err != nil {
		return noAnswer(err)
	}
	c.warn(screen, a.Deviations, a.Deviating)
	if c.json {
		err = json.NewEncoder(stdout).Encode(a)
	} else {
		fmt.Fprintf(stdout, "%s listed, %s the same in the copy.\n", resources(a.Listed), humanize.Comma(a.Same))
		printFound(stdout, "missing in the copy", a.Missing)
		printFound(stdout, "another version in the copy", a.Differs)
		printFound(stdout, "not listed any more", a.Extra)
		printFound(stdout, "damaged in the copy", a.Damaged)
		if a.Undecided > 0 {
			fmt.Fprintf(stdout, "%s undecided: the lists contradict each other, and the next run without --audit asks the resources.\n", resources(a.Undecided))
		}
	}
	if err == nil && !a.InSync() {
		err = auditAdvice(a)
	}
	return err
}

// auditAdvice returns the error for a copy that differs, with what to do.
func auditAdvice(a *destination.AuditReport) error {
	kept := a.Held
	var advice []string
	for _, g := range a.Gone {
		if !g.Held {
			kept += g.Resources
		}
	}
	if a.Missing.Count+a.Differs.Count+a.Damaged.Count > 0 || a.Extra.Count > kept {
		advice = append(advice, "run mirror without --audit to update and repair it")
	}
	if a.Held > 0 {
		advice = append(advice, fmt.Sprintf("the deletions of %s are held%s; if they are intended, run mirror with --max-delete 100%%", resources(a.Held), goneText(a.Gone, true)))
	}
	if text := goneText(a.Gone, false); text != "" {
		advice = append(advice, text)
	}
	return fmt.Errorf("the copy differs from the Source; %s", strings.Join(advice, "; "))
}

// resources returns a number of resources as text.
func resources(n int64) string {
	if n == 1 {
		return "1 resource"
	}
	return terminal.Count(n, "resources")
}

func printFound(w io.Writer, what string, f destination.Found) {
	if f.Count == 0 {
		return
	}
	fmt.Fprintf(w, "%s:\n", terminal.Count(f.Count, what))
	for _, uri := range f.URIs {
		fmt.Fprintf(w, "  %s\n", terminal.Printable(uri))
	}
	if more := f.Count - int64(len(f.URIs)); more > 0 {
		fmt.Fprintf(w, "  and %s\n", terminal.Count(more, "more"))
	}
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
