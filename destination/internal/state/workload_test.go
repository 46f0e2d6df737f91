package state

import (
	"errors"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// workload runs all statements of the package. Their results matter only if they determine which
// statements are run.
func workload(t *testing.T, s *State) {
	ctx, now := t.Context(), time.Now().UTC()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change := func(uri string, kind resourcesync.ChangeType, at time.Time) resourcesync.Change {
		return resourcesync.Change{Type: kind, Datetime: at, Resource: resourcesync.Resource{URI: source + uri, LastModified: at}}
	}
	copied := func(uri, set string) {
		must(s.SaveResource(source+uri, &Resource{Path: uri, Set: set, List: "list", Seen: 1, Datetime: now}))
	}
	noted := func(uri, set string, kind resourcesync.ChangeType) row {
		_, err := s.put(&Pending{Set: set, List: "list", Seen: 1, Change: change(uri, kind, now)}, &row{}, false)
		must(err)
		r, _, err := s.row(source + uri)
		must(err)
		return r
	}
	shared := func(uri, set string) {
		must(s.share(&Pending{Set: set, List: "list", Seen: 1, Change: change(uri, resourcesync.Updated, now)}, false))
	}
	knows := func(uri string) *knowledge {
		k, err := s.known(source + uri)
		must(err)
		return &k
	}
	staged := func(uri, set string, kind resourcesync.ChangeType, at time.Time) *Staged {
		return &Staged{Pending: Pending{Set: set, Change: change(uri, kind, at)}, Date: now}
	}
	_, _, err := s.OnlyList()
	must(err)
	must(s.SaveOnlyList(""))
	must(s.Check())

	// sets and documents
	for _, named := range []string{"a", "a", "b"} {
		must(s.Found("set", named))
	}
	must(s.Missed("set", now))
	must(s.Found("set", "b"))
	_, err = s.GoneSets()
	must(err)
	_, err = s.Set("set")
	must(err)
	must(s.SaveSet(Set{URI: "set", Baseline: 1}))
	must(s.SaveDocument("set", "list", Document{}, 1))
	must(s.SaveDocument("set", "list", Document{Validators: fetch.Validators{ETag: "1"}}, 1))
	_, err = s.Document("set", "list")
	must(err)
	must(s.SaveNext("list", "next"))
	_, err = s.Next("list")
	must(err)
	must(s.SaveNext("list", ""))
	must(s.SaveReading(&Reading{Set: "set", URI: "changes", Date: now, Whole: true}))
	_, err = s.Reading("set", "changes")
	must(err)
	must(s.Reread("set", "changes", now, false))
	_, err = s.Listed("set")
	must(err)
	_, err = s.Open("set")
	must(err)
	_, err = s.HasReadings("set")
	must(err)
	must(s.ForgetReadings("set", now.Add(time.Hour), nil))
	must(s.ForgetAllReadings("set"))
	must(s.ForgetDocument("set", "list"))
	must(s.ForgetDocuments("set", 1))
	must(s.SaveSubscription(Subscription{}))
	_, _, err = s.Subscription("")
	must(err)
	must(s.DeleteSubscription(""))

	// entries of lists
	for range 3 { // noted, the same, and of a package
		p := Pending{Set: "set", List: "list", Seen: 1, Change: change("new", "", now)}
		_, err = s.Note(&p)
		must(err)
		p.Package = 1
		_, err = s.Note(&p)
		must(err)
	}
	_, err = s.Note(&Pending{Set: "set", List: "list", Seen: 1, At: now.Add(-time.Hour), Change: change("new", "", now)})
	must(err)
	_, err = s.Note(&Pending{Set: "set", List: "list", Seen: 1, Change: change("new", "", now.Add(time.Second))})
	must(err)
	copied("old", "set")
	_, err = s.Note(&Pending{Set: "set", List: "list", Seen: 1, Change: change("old", "", now)})
	must(err)
	_, _, _, err = s.Unchanged("set", "list", 1)
	must(err)
	_, _, err = s.Missing("set", 1, now)
	must(err)
	must(s.NoteMissing("set", 1, now, now))
	_, err = s.MissingSince("set", 1, now)
	must(err)
	must(s.AskMissing("set", 1, now))
	_, err = s.OldestAnswer("set")
	must(err)
	_, err = s.AskUnlisted("set", 2, now, now)
	must(err)
	must(s.Forget("set", 1, now))
	must(s.AskSuperseded("set", 100, 101))
	must(s.Damaged(&Member{URI: source + "damaged"}, nil))

	// changes
	must(s.Stage(staged("x", "set", resourcesync.Updated, now), false))
	must(s.Stage(staged("x", "set", resourcesync.Updated, now.Add(-time.Second)), false))
	_, err = s.IsStaged("set", source+"x")
	must(err)
	_, err = s.StagedAfter(0, 10)
	must(err)
	_, err = s.StagedOf(source + "x")
	must(err)
	in := &Set{URI: "set", Baseline: 1, Base: now}
	copied("elsewhere", "other set")
	_, err = s.NoteChange(in, staged("elsewhere", "set", resourcesync.Updated, now.Add(time.Hour)))
	must(err)
	pending := noted("waiting", "set", resourcesync.Updated)
	future := staged("waiting", "set", resourcesync.Updated, now.Add(time.Hour))
	future.Change.Resource.LastModified = now
	_, err = s.NoteChange(in, future)
	must(err)
	shown := staged("old", "set", resourcesync.Updated, now)
	shown.Change.Resource.Hashes = []resourcesync.Hash{{Algorithm: "md5", Digest: "1"}}
	must(s.SaveResource(source+"old", &Resource{Path: "old", Set: "set", Hashes: shown.Change.Resource.Hashes}))
	_, err = s.NoteChange(&Set{URI: "set"}, shown)
	must(err)
	_, err = s.doubt(knows("waiting"))
	must(err)
	_, err = s.askAgain(knows("waiting"))
	must(err)
	must(s.distrust(knows("elsewhere"), &resourcesync.Change{Resource: resourcesync.Resource{URI: source + "elsewhere", Length: resourcesync.Bytes(7)}}))

	// resources of several sets
	copied("shared", "set")
	shared("shared", "other set")
	_, _, err = s.leave(in, staged("shared", "set", resourcesync.Deleted, now.Add(time.Hour)), *knows("shared"))
	must(err)
	must(s.share(&Pending{Set: "other set", Change: change("shared", resourcesync.Deleted, now)}, true))
	must(s.joinBy(in, staged("elsewhere", "set", resourcesync.Updated, now), knows("elsewhere")))
	s.SetsAre([]string{"set"})
	copied("taken over", "gone set")
	noted("taken over", "gone set", resourcesync.Deleted)
	must(s.join(&Pending{Set: "set", Change: change("taken over", "", now)}, knows("taken over")))
	for _, kind := range []resourcesync.ChangeType{"", resourcesync.Deleted, resourcesync.Updated} {
		copied("asked", "set")
		if kind != "" {
			must(s.exec("DELETE FROM pending WHERE uri = ?", source+"asked"))
			noted("asked", "set", kind)
		}
		must(s.question(source + "asked"))
	}
	shared("shared", "other set")
	_, err = s.inherit(source + "shared")
	must(err)
	shared("shared", "third set")
	must(s.Inherit("set", 2, now.Add(time.Hour)))
	_, err = s.Only("set")
	must(err)

	// pending changes
	_, err = s.LastPending()
	must(err)
	_, err = s.Pending(0, 100, 10)
	must(err)
	_, err = s.IsShared("waiting")
	must(err)
	_, err = s.PendingDeletions(0, 10)
	must(err)
	for range s.Resumable() {
	}
	_, err = s.HasPending("set", source)
	must(err)
	_, err = s.PendingCount()
	must(err)
	must(s.Failed(pending.seq, fetch.ErrDown, time.Time{}))
	must(s.Reask(pending.seq))
	must(s.Answered(pending.seq))
	must(s.Ask(pending.seq, now, time.Time{}))
	must(s.AskEarly(10))
	must(s.Delayed(pending.seq, fetch.ErrDown, now))
	_, err = s.LastDelayed(now)
	must(err)
	_, err = s.PendingDelayed(0, 10)
	must(err)
	_, err = s.Delays(10)
	must(err)
	must(s.SavePauses([]fetch.Pause{{Host: "host", Until: now}}))
	_, err = s.Pauses()
	must(err)

	// packages
	p := Package{URI: "package"}
	must(s.SavePackage(&p))
	_, err = s.Package(p.ID)
	must(err)
	noted("packed", "set", resourcesync.Updated)
	attached := &Pending{Package: p.ID, Member: "m", At: now, Change: change("packed", "", now)}
	attached.Change.Datetime = now
	_, err = s.Attach(attached)
	must(err)
	_, err = s.PendingIn(p.ID, 0, 10)
	must(err)
	_, _, err = s.Contained(p.ID)
	must(err)
	_, err = s.NextPackage(p.ID, 0)
	must(err)
	_, err = s.OldestPackage()
	must(err)
	must(s.detach(knows("packed"), &resourcesync.Change{Datetime: now}))
	_, err = s.Unpackaged("set")
	must(err)
	_, err = s.Packages(false)
	must(err)

	// the copy
	_, err = s.FreePath(source+"folder/deep/file", "source.example")
	must(err)
	must(s.Place(ctx, nil))
	_, err = s.Unsettled()
	must(err)
	must(s.Own(&Intent{URI: source + "own", Path: "own", Set: "set"}))
	s.unsure = true
	must(s.Placed())
	must(s.SaveFolder("folder"))
	_, err = s.Made("folder")
	must(err)
	must(s.DeleteFolder("folder"))
	_, isFull := errors.AsType[*FullError](s.explain(sqlite.ResultFull.ToError()))
	if !isFull {
		t.Error("the error of a full state does not say so")
	}
	_, err = s.Until()
	must(err)
	_, _, err = s.Totals()
	must(err)
	_, err = s.Copied("", map[string]bool{"set": true})
	must(err)

	// audits
	audit, err := s.Audit()
	must(err)
	for _, uri := range []string{"zz", "a", "nothing", "shared"} {
		_, _, err = audit.Compare(&Pending{Set: "set", Change: change(uri, "", now)})
		must(err)
	}
	must(s.Stage(staged("zzz", "set", resourcesync.Deleted, now.Add(time.Hour)), false))
	copied("zzz", "set")
	audit, err = s.Audit()
	must(err)
	_, _, err = audit.Compare(&Pending{Set: "set", At: now, Change: change("zzz", "", now)})
	must(err)
	must(audit.Rest(ctx, func([]Member) error { return nil }))
	must(audit.Staged(ctx, nil, func(string, Comparison) {}))
	_, err = s.decided(source+"x", Same, Differs)
	must(err)
	copied("extra", "set")
	_, err = s.remove(staged("extra", "set", resourcesync.Deleted, now), &Member{URI: source + "extra"})
	must(err)
	must(s.ClearStaged())
	_, err = audit.judge(now, nil, nil, &Member{URI: source + "unlisted", Resource: Resource{Set: "set"}})
	must(err)

	// the ends
	must(s.Done([]int64{pending.seq}))
	must(s.DeleteSet("set"))
	must(s.MoveTo(ctx, "http://new.example/", "", []Move{{source, "http://new.example/"}}, []Move{{"set", "new set"}}))
	_, err = s.KnownSets()
	must(err)
	copied("former", "new set")
	shared("former", "third set")
	_, ok, err := s.find("http://new.example/former")
	if must(err); !ok {
		t.Error("a resource is not found under its new URI")
	}
	must(s.DeleteResource("http://new.example/former"))
	copied("audited", "new set")
	renamed := staged("", "new set", resourcesync.Updated, now)
	renamed.Change.Resource.URI = "http://new.example/audited"
	must(s.Stage(renamed, false))
	audit, err = s.Audit()
	must(err)
	must(audit.Staged(ctx, nil, func(string, Comparison) {}))
}
