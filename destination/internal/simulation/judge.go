package simulation

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
)

// A Verdict is the result of judging a history.
type Verdict struct {
	Failures []Failure
	Trace    []string
	fired    []plannedFault

	// Outcome is the outcome of the history as a whole.
	Outcome  Outcome
	Runs     int
	Requests int
}

// An Outcome is the result of comparing the copy with the Source in the end.
type Outcome string

// The outcomes. Stale copies are unverifiable if the Destination has counted them, and
// undetectable if the documents describe another version exactly like the one of the copy.
const (
	Equal        Outcome = "equal"
	Blocked      Outcome = "equal, but for files of the user in the way"
	Unverifiable Outcome = "counted as unverifiable"
	Undetectable Outcome = "undetectable"
	Refused      Outcome = "refused as another Source"
	Failed       Outcome = "failed"
)

// exit returns the exit status that the command would have.
func exit(r *destination.Report, err error) int {
	if err != nil || r.Held > 0 || len(r.Gone) > 0 || r.Failed > 0 {
		return 1
	}
	return 0
}

// sync lets the Destination bring its copy up to date, and compares the copy if the Source has
// not changed meanwhile.
func (w *World) sync() (report *destination.Report, status int) {
	p, ctx, err := w.start()
	before, documented := w.entries(), w.documented()
	report = &destination.Report{}
	if err == nil {
		report, err = p.d.Sync(ctx)
	}
	w.verdict.Runs++
	status = exit(report, err)
	w.event("sync %d: exit %d: %d created, %d updated, %d deleted, %d failed, %d held, %v", p.number, status, report.Created, report.Updated, report.Deleted, report.Failed, report.Held, err)
	for _, f := range report.Failures {
		w.event("  %s: %s", f.URI, f.Error)
	}
	if p.isDead() {
		w.unsettled = true
		w.end()
		return report, 1
	}
	w.refused = w.judgeRefusal(p, err)
	w.judgeCost(p.number, 2)
	if status == 0 {
		w.setFailing(false)
	}
	w.unsettled = w.unsettled && err != nil
	if status == 0 && w.entries() == before && documented && w.fresh(p.number) {
		w.compare()
	}
	return report, status
}

func (w *World) entries() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

// fresh reports whether an operation has read the current documents of the Source.
func (w *World) fresh(process int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.isFaulty(process) && w.published()
}

// isFaulty reports whether a fault has hit a request of an operation. The caller holds the lock.
func (w *World) isFaulty(process int) bool {
	return slices.ContainsFunc(w.requests, func(r *request) bool { return r.process == process && r.faulty })
}

// documented reports whether the documents of the Source show its current state.
func (w *World) documented() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.published()
}

// published does the work of documented. The caller holds the lock.
func (w *World) published() bool {
	n := len(w.log)
	if w.Source == "" && w.dumpsDecide() && n > 0 && w.log[n-1].when.Add(w.DumpLag).After(time.Now()) {
		return false
	}
	published := n > 0 && w.log[n-1].verb == "publish"
	if w.Source == "static" {
		return published
	}
	return !w.Published || published || w.Lists != "none" || w.Source != "" || w.dumpsDecide()
}

// audit lets the Destination audit its copy, and judges the report if the Source has not changed
// meanwhile. It returns the error of the Destination.
func (w *World) audit() error {
	p, ctx, err := w.start()
	before, documented := w.entries(), w.documented()
	report := &destination.AuditReport{}
	if err == nil {
		report, err = p.d.Audit(ctx)
	}
	w.event("audit %d: %+v, %v", p.number, report, err)
	if p.isDead() {
		w.end()
		return err
	}
	w.judgeCost(p.number, 1)
	if names := w.contents(p.number); len(names) > 0 {
		w.fail("audit", "the audit requested the content of %v", names)
	}
	switch {
	case w.NoLists && w.Source == "" && err == nil:
		w.fail("audit", "the Source has no lists, but the audit returns no error")
	case err == nil && w.entries() == before && documented && w.fresh(p.number) && !w.diskHasFailed() && !w.dumpsDecide():
		w.judgeAudit(report)
	}
	return err
}

// files returns the files of the copy without the state.
func (w *World) files() map[string]string {
	files := make(map[string]string)
	root := w.folder()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == localname.State {
			return fs.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		w.broken(err)
	}
	return files
}

// A comparison is the result of comparing the copy with the Source.
type comparison struct {
	stale, blocked, unverifiable, undetectable int
	unlisted                                   int // resources that no set lists, and that the Source still serves
}

// compare compares the copy with the Source after a run with the exit status 0, or in the end.
func (w *World) compare() (c comparison) {
	files := w.files()
	for name, text := range w.user {
		if files[name] != text {
			w.fail("user", "the user's file %s was changed", name)
		}
		delete(files, name)
	}
	for _, v := range w.listed() {
		at, _ := w.placeOf(files, &v)
		text, ok := files[at]
		delete(files, at)
		switch {
		case ok && text == string(v.content()):
		case text == "edited" && w.claimed[localname.Of(v.uri(), Host)]:
			c.blocked++
		case (!ok || text == "edited") && w.damaged[localname.Of(v.uri(), Host)]:
			c.stale++
		case !ok && w.isBlocked(&v):
			c.blocked++
		case !ok:
			w.fail("missing", "%s is missing from the copy", v.name)
		default:
			c.stale++
			w.judgeStale(&c, &v, text)
		}
	}
	for name, text := range files {
		if text == "edited" && w.claimed[name] {
			continue
		}
		if w.isServed(text) {
			c.unlisted++
			continue
		}
		w.fail("extra", "the copy has the file %s (%.20q), which the Source does not have", name, text)
	}
	return c
}

// isListed reports whether a current set of the Source lists a resource. The caller holds the
// lock.
func (w *World) isListed(r *resource) bool {
	for set := range r.sets {
		if w.place(set, len(w.log)) >= 0 {
			return true
		}
	}
	return false
}

// isBlocked reports whether a file of the user is at the place of a copy, or a folder of it.
func (w *World) isBlocked(v *version) bool {
	name := localname.Of(v.uri(), Host)
	for user := range w.user {
		for at := user; at != "."; at = path.Dir(at) {
			if at == name {
				return true
			}
		}
		if strings.HasPrefix(name, user+"/") {
			return true
		}
	}
	return false
}
