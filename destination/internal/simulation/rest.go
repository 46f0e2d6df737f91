package simulation

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
)

// rest stops the changes and the faults, and judges.
func (w *World) rest() {
	w.event("rest")
	w.mu.Lock()
	w.resting = true
	if w.Published && w.Lists == "none" || w.Source == "static" {
		w.note("publish", 0, version{})
	}
	w.mu.Unlock()
	if err := w.tell(); err != nil {
		w.broken(err)
	}
	time.Sleep(10 * time.Second)
	w.sync()
	w.pause()
	if w.datesAll() {
		report, _ := w.sync()
		w.judgeFailures(report)
		w.pause()
	}
	time.Sleep(49 * time.Hour)
	if w.edited() {
		if err := w.audit(); err != nil { // the Source has moved, and no run has followed it
			w.pause()
			w.sync()
			w.pause()
			_ = w.audit()
		}
		w.pause()
		clear(w.damaged)
	}
	report, status := w.sync()
	w.pause()
	if until := goneUntil(report); !until.IsZero() { // the run before has not read the Source Description, because its host paused
		time.Sleep(time.Until(until))
		report, status = w.sync()
		w.pause()
	}
	if report.Held > 0 {
		w.end()
		w.Guard = false
		_, status = w.sync()
		w.pause()
	}
	if w.refused {
		w.end()
		w.verdict.Outcome = Refused
		if len(w.failures) > 0 {
			w.verdict.Outcome = Failed
		}
		return
	}
	c := w.compare()
	if want := min(c.blocked, 1); status != want && !(status == 1 && w.anyBlocked()) {
		w.fail("exit", "the exit status of the last run is %d", status)
	}
	undecided := w.auditAtRest(&c)
	want := w.unverifiable()
	report, status = w.sync()
	if names := w.contents(w.number); len(names) > 0 && c.blocked+c.stale == 0 {
		w.judgeRequests(names, undecided)
	}
	if report.Unverifiable != want && status == 0 && w.Dumps == "" { // contents of packages have neither validators nor times that are known here
		w.fail("unverifiable", "the last run counts %d resources as unverifiable instead of %d", report.Unverifiable, want)
	}
	w.end()
	if status == 0 {
		w.judgeState()
	}
	w.verdict.Requests = len(w.requests)
	switch {
	case len(w.failures) > 0:
		w.verdict.Outcome = Failed
	case c.unverifiable+int(report.Unverifiable) > 0:
		w.verdict.Outcome = Unverifiable
	case c.undetectable+c.unlisted > 0:
		w.verdict.Outcome = Undetectable
	case c.blocked > 0:
		w.verdict.Outcome = Blocked
	default:
		w.verdict.Outcome = Equal
	}
}

// datesAll reports whether all documents show the current state, and state exact times of all changes.
func (w *World) datesAll() bool {
	exact := w.Times == "" && w.Changes == "" && w.At == 0 && !w.NoAt && w.Skew == 0 && !w.NoDate
	return exact && w.Old == 0 && w.Dumps == "" && w.Lists != "none" && w.Sets < 2 &&
		!slices.ContainsFunc(w.Events, func(e Event) bool { return e.Verb == "clock" })
}

// judgeFailures judges a run soon after the changes and the faults have ended. Where documents date all changes, it does
// not fail because of resources that the Source does not have.
func (w *World) judgeFailures(r *destination.Report) {
	listed := make(map[string]bool)
	for _, v := range w.listed() {
		listed[v.uri()] = true
	}
	for _, f := range r.Failures {
		if !listed[f.URI] && strings.HasSuffix(f.Error, "answered 404 Not Found") {
			w.fail("failures", "the run fails because of %s, which the Source does not have: %s", f.URI, f.Error)
		}
	}
}

// goneUntil returns the latest time until which the sets that a run reports as gone may come back, or zero.
func goneUntil(r *destination.Report) (until time.Time) {
	for _, g := range r.Gone {
		until = latest(until, g.After)
	}
	return until
}

// unverifiable returns the number of resources that a run that compares Resource Lists must count as unverifiable:
// neither their entries nor their validators can show a change.
func (w *World) unverifiable() (n int64) {
	if w.Source != "" || w.listsChanges() || !w.NoHash || w.Validators != "none" {
		return 0
	}
	f := &foreign{w}
	for _, v := range w.listed() {
		answered := w.lastAnswer(v.name)
		shown, err := time.Parse(time.RFC3339, f.time(v.lastmod))
		if w.Times == "day" {
			shown, err = time.Parse(time.DateOnly, f.time(v.lastmod))
		}
		if !w.hasLastMod() || err != nil || w.Times != "" && answered.Truncate(time.Second).Before(shown.Add(w.tick())) {
			n++
		}
	}
	return n
}

// lastAnswer returns the time at which the Source last answered a request for a resource: by its own
// clock, or by the clock of the Destination if the response has no Date.
func (w *World) lastAnswer(name string) (at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if r.name == name && !r.faulty && (r.status == http.StatusOK && r.received || r.status == http.StatusNotModified) {
			if at = r.at; w.NoDate {
				at = r.when
			}
		}
	}
	return at
}

// anyBlocked reports whether any version has been blocked by a file of the user.
func (w *World) anyBlocked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.truth {
		if w.isListed(r) && w.isBlocked(&r.version) {
			return true
		}
	}
	return false
}

// edited reports whether the user edits or removes copies.
func (w *World) edited() bool {
	for _, e := range w.Events {
		if e.Verb == "edit" || e.Verb == "lose" {
			return true
		}
	}
	return false
}

// auditAtRest judges an audit of the copy in the end, and returns the number of resources that it
// cannot decide.
func (w *World) auditAtRest(c *comparison) (undecided int64) {
	p, _, err := w.start()
	if err != nil {
		w.broken(err)
		return 0
	}
	a, err := p.d.Audit(context.Background())
	w.event("audit %d: %+v, %v", p.number, a, err)
	switch {
	case w.NoLists && w.Source == "" && err != nil && a.Listed == 0: // there is nothing to compare with
	case err != nil:
		w.fail("audit", "the last audit fails: %v", err)
	case c.blocked == 0 && a.Missing.Count+a.Differs.Count+a.Extra.Count+a.Damaged.Count > int64(c.unlisted):
		w.fail("audit", "the last audit says %d missing %v, %d differ %v, %d extra %v, %d damaged %v", a.Missing.Count, a.Missing.URIs, a.Differs.Count, a.Differs.URIs, a.Extra.Count, a.Extra.URIs, a.Damaged.Count, a.Damaged.URIs)
	case int(a.Missing.Count) != c.blocked && c.blocked > 0:
		w.fail("audit", "the last audit says %d missing %v instead of %d", a.Missing.Count, a.Missing.URIs, c.blocked)
	}
	if names := w.contents(w.number); len(names) > 0 {
		w.fail("audit", "the audit requested the content of %v", names)
	}
	if err == nil && !w.dumpsDecide() {
		w.judgeAudit(a)
	}
	w.judgeCost(w.number, 1)
	w.pause()
	return a.Undecided
}

// judgeRequests judges the requests for contents of a run whose copy was already
// current, after an audit.
func (w *World) judgeRequests(names []string, undecided int64) {
	if w.NoHash && (w.Validators == "none" || w.NoLists) || w.Validators == "none" && !w.marked() {
		return // neither the server nor a package has a validator
	}
	if w.NoHash && w.UseDumps && undecided > 0 && !slices.ContainsFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".zip") }) {
		return // the run requests what the audit could not decide, and uses all packages
	}
	w.fail("requests", "a run of a current copy requested the content of %v", names)
}
