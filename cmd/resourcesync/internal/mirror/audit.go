package mirror

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
)

// requestAudit lets the process that follows the Source audit. If that process ends, this one
// audits.
func (c *Config) requestAudit(ctx context.Context, screen *terminal.Screen, stdout io.Writer, open func() (*destination.Destination, error)) error {
	request, err := destination.NewAuditRequest(cmp.Or(c.state, filepath.Join(c.Folder, ".resourcesync")))
	if err != nil {
		return err
	}
	defer request.Close()
	for {
		wait, stop := context.WithTimeout(ctx, retryState)
		a, err := request.Await(wait)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			return c.AuditResult(a, err, screen, stdout)
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

func (c *Config) runAudit(ctx context.Context, d *destination.Destination, screen *terminal.Screen, stdout io.Writer) error {
	a, err := d.Audit(ctx)
	return c.AuditResult(a, err, screen, stdout)
}

// AuditResult prints the report of an audit, and returns an error if the copy differs.
func (c *Config) AuditResult(a *destination.AuditReport, err error, screen *terminal.Screen, stdout io.Writer) error {
	screen.Status("")
	if err != nil {
		return c.noAnswer(err)
	}
	c.warn(screen, a.Deviations, a.Deviating)
	if c.json {
		err = json.NewEncoder(stdout).Encode(a)
	} else {
		fmt.Fprintf(stdout, "%s listed, %s the same in the copy.\n", resources(a.Listed), humanize.Comma(a.Same))
		printFound(stdout, "missing in the copy", a.Missing)
		printFound(stdout, "another version in the copy", a.Differs)
		printFound(stdout, "no longer listed", a.Extra)
		printFound(stdout, "damaged in the copy", a.Damaged)
		if a.Undecided > 0 {
			fmt.Fprintf(stdout, "%s undecided: the documents do not show which version is current. Runs without --audit request these resources.\n", resources(a.Undecided))
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
