package rshttp

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// An attic has days of Resource Lists, and of Change Lists that the journal has dropped.
type attic struct {
	began time.Time
	days  int
	reads int
}

func (a *attic) Archives() []resourcesync.Capability {
	return []resourcesync.Capability{resourcesync.ResourceListArchive}
}

func (a *attic) Snapshots(context.Context, resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
	return func(yield func(resourcesync.Snapshot, error) bool) {
		a.reads++
		for day := range a.days {
			if !yield(resourcesync.Snapshot{URI: fmt.Sprintf("https://example.org/kept/%d.xml", day), At: a.began.AddDate(0, 0, day)}, nil) {
				return
			}
		}
	}
}

// A droppedLists is an attic as a ChangeArchiver.
type droppedLists struct{ *attic }

func (a droppedLists) StatArchive(context.Context) (resourcesync.ArchiveStat, error) {
	return resourcesync.ArchiveStat{Since: a.began.Add(-time.Duration(a.days) * time.Second)}, nil
}

func (a droppedLists) ArchivedWindows(context.Context, int) (windows []resourcesync.Interval, err error) {
	for day := range a.days {
		from := a.began.AddDate(0, 0, day)
		windows = append(windows, resourcesync.Interval{From: from, Until: from.AddDate(0, 0, 1)})
	}
	return windows, nil
}

func (a droppedLists) ArchivedChanges(context.Context, resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(func(resourcesync.Change, error) bool) {}
}

// TestFrameworkArchives: changes of archives are announced; for an index, its newest page.
// An Archiver is not read each time.
func TestFrameworkArchives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := &attic{began: time.Now().AddDate(0, 0, -100), days: 2}
		changes := &attic{began: lists.began}
		set := Set{Provider: memory.New(nil), Archiver: lists, ChangeArchiver: droppedLists{changes}}
		o := Options{Division: Division{PageSize: 5}}
		f := frame(t, o, "", set)
		f.get("https://example.org/rs/resourcelist.xml")
		f.want("created .well-known/resourcesync\ncreated rs/capabilitylist.xml\n" +
			"created rs/resourcelist.xml\ncreated rs/changelist.xml\ncreated rs/resourcelistarchive.xml\ncreated rs/changelistarchive.xml\n")
		f.want("")
		changes.days++
		f.want("updated rs/changelistarchive.xml\n")
		lists.days++
		reads := lists.reads
		f.want("")
		if lists.reads != reads {
			t.Errorf("read %d times in an hour", lists.reads-reads)
		}
		f = f.again(o, set)
		f.get("https://example.org/rs/resourcelist.xml")
		f.want("")
		time.Sleep(time.Hour)
		f.want("updated rs/resourcelistarchive.xml\n")
		lists.days += 5
		time.Sleep(time.Hour)
		_, _, pages := f.get("https://example.org/rs/resourcelistarchive.xml")
		newest := pages[len(pages)-1].Loc
		f.get(newest)
		f.want("created " + newest[len("https://example.org/"):] + " index rs/resourcelistarchive.xml\n")
		f.want("")

		// The previous format had no archives: nothing is announced as new.
		k := f.known()
		f.text = fmt.Sprintf(`{"format":2,"description":%q,"capabilitylist":%q}`, k.Description, k.CapabilityList)
		for _, u := range f.again(o, set).crawled().news() {
			for _, e := range u.Entries {
				if c := e.Metadata.Capability; c == resourcesync.ResourceListArchive || c == resourcesync.ChangeListArchive {
					t.Errorf("%s %s", e.Metadata.Change, e.Loc)
				}
			}
		}
	})
}

func (f *framed) crawled() *framed {
	f.crawl()
	return f
}
