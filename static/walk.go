package static

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// maxWalks is the maximum number of times that a walk begins again because a set changes.
const maxWalks = 5

// walk puts each document and package after those that it links to below it: parts come
// before their index, packages before their dump, lists before the Capability List, and the
// Source Description is the last. So every link leads to a file at any moment.
//
// An index lists the documents that were put, even if the set changes in between. If that is
// no longer possible, because a set outgrows a document for example, the walk of the set begins
// again. In a session, a set that fails does not keep the others from being put.
func (w *writer) walk(ctx context.Context) error {
	site := w.src.site
	for _, st := range site.Order {
		if err := st.Ready(ctx); err != nil && w.session == nil {
			return err
		}
	}
	failed := make(setErrors)
	for _, st := range site.Order {
		err := w.walkSet(ctx, st)
		if err != nil && (w.session == nil || !w.session.survives(ctx, err)) {
			return err
		}
		if err != nil {
			failed[st.Name] = err
		}
	}
	if err := w.walkRecent(ctx, failed); err != nil {
		return err
	}
	var listed []*document.Set
	for _, st := range site.Order {
		v := &walk{w, ctx, st}
		if failed[st.Name] == nil {
			if err := v.put(document.KindCapabilityList, "", configuration, new(document.State)); err != nil {
				return err
			}
		}
		if v.wasPut(document.KindCapabilityList) { // otherwise the Source Description would lead nowhere
			listed = append(listed, st)
		}
	}
	if len(listed) > 0 {
		if err := w.walkDescription(ctx, listed); err != nil {
			return err
		}
	}
	return failed.err()
}

// walkRecent puts the lists of recent changes, after the Change Lists of all sets.
func (w *writer) walkRecent(ctx context.Context, failed setErrors) error {
	if w.session != nil && w.session.whole {
		w.session.updated(w.now)
	}
	for _, st := range w.src.site.Order {
		if st.Changer == nil || st.Ready(ctx) != nil {
			continue
		}
		v := &walk{w, ctx, st}
		err := v.recentChanges()
		if err != nil && (w.session == nil || !w.session.survives(ctx, err)) {
			return err
		}
		if err != nil && failed[st.Name] == nil {
			failed[st.Name] = err
		}
	}
	return nil
}

// configuration is the version of documents that depend on the configuration only.
const configuration = "configuration"

// walkSet puts the lists and dumps of a set. A session that has put all of them puts the Change List
// from then on.
func (w *writer) walkSet(ctx context.Context, st *document.Set) (err error) {
	v := walk{w, ctx, st}
	if err := st.Ready(ctx); err != nil {
		return err
	}
	var failed error
	all := st.Capabilities()
	light := w.session != nil && w.session.walked[st.Name]
	if light {
		all = slices.DeleteFunc(all, func(c resourcesync.Capability) bool { return c != resourcesync.ChangeList })
	}
	for _, c := range all {
		before := maps.Clone(w.live)
		for n := 1; ; n++ {
			if w.skipped[group{st.Name, c}] {
				break
			}
			if err = v.list(c); !moved(err) || n == maxWalks {
				break
			}
			w.live = maps.Clone(before) // nothing lists what this attempt has put
			if w.session != nil {       // but a Change List may be put meanwhile
				maps.Copy(w.live, w.session.listed)
			}
		}
		if err != nil && (w.session == nil || !w.session.survives(ctx, err)) {
			return err
		}
		if failed == nil {
			failed = err // the Change List follows also if the Resource List fails
		}
	}
	if failed != nil {
		return failed
	}
	if !light {
		w.noteDump(st)
	}
	if w.session != nil {
		w.session.walked[st.Name] = true
	}
	return nil
}

// walkDescription puts the Source Description, with some of the sets.
func (w *writer) walkDescription(ctx context.Context, sets []*document.Set) error {
	site, version := w.src.site, configuration
	if len(sets) < len(site.Order) {
		for _, st := range sets {
			version += " " + st.Name
		}
	}
	if err := site.Describe(sets); err != nil {
		return err
	}
	top := walk{w, ctx, nil}
	for i := range site.Description.Parts {
		if err := top.put(document.KindDescriptionPart, strconv.Itoa(i+1), version, new(document.State)); err != nil {
			return err
		}
	}
	return top.put(document.KindDescription, "", version, new(document.State))
}

// A walk puts the documents of a set.
type walk struct {
	*writer
	ctx context.Context
	set *document.Set
}

// put brings a document in the state st up to date. version identifies the state in any
// process; it is empty if it is unknown.
func (w *walk) put(kind, part, version string, st *document.State) error {
	return w.putNamed(kind, part, part, version, st, nil)
}

func (w *walk) putNamed(kind, part, name, version string, st *document.State, check func() error) error {
	d := &doc{Target: document.Target{Kind: w.src.site.Routes.Kinds[kind], Set: w.set, Part: part}, state: st, check: check}
	d.name = w.name(kind, name)
	d.Path = d.name
	if version != "" {
		d.validator = document.DigestOf(w.src.print, kind, part, version, strconv.FormatBool(w.options.Gzip && w.files.HasHeaders()))
	}
	return w.store(w.ctx, d)
}

// name returns the name of a file.
func (w *walk) name(kind, part string) string {
	return strings.TrimPrefix(w.src.site.Routes.Path(kind, w.set, part), "/")
}

// wasPut reports whether a document of the set has been put.
func (w *walk) wasPut(kind string) bool {
	f := w.known.Files[w.name(kind, "")]
	return f != nil && f.Validator != ""
}

// list puts the documents of a capability.
func (w *walk) list(c resourcesync.Capability) error {
	switch c {
	case resourcesync.ResourceList:
		since, err := during(w.ctx, w.writer, func() (time.Time, error) { return journalSince(w.ctx, w.set) })
		if err != nil {
			return err
		}
		at, err := w.resources(document.KindResourceList)
		if err == nil && w.src.site.PlainSitemaps {
			_, err = w.resources(document.KindSitemap)
		}
		if err == nil {
			w.noteList(w.set, at, since)
		}
		return err
	case resourcesync.ChangeList:
		return w.changes()
	case resourcesync.ResourceDump:
		return w.resourceDump()
	case resourcesync.ChangeDump:
		return w.changeDump()
	}
	return w.archive(c)
}

// current returns the partition of the set in its current state.
func (w *walk) current(d *partition.Partitioner) (*partition.Partition, error) {
	return during(w.ctx, w.writer, func() (*partition.Partition, error) {
		p, err := d.Get(w.ctx)
		if err != nil {
			return nil, err
		}
		stat, err := document.StatOf(w.ctx, w.set.Stater, partition.Whole)
		if err != nil || stat.Version == p.Version {
			return p, err
		}
		return d.Renew(w.ctx, p)
	})
}

// state returns the state of the resources in a range of keys.
func (w *walk) state(r resourcesync.Range) (*document.State, error) {
	return during(w.ctx, w.writer, func() (*document.State, error) { return w.set.ResourceState(w.ctx, r, nil) })
}

// resources puts the Resource List or the sitemap, with the pages if it is an index. It returns the
// time of the newest change that the list shows, which is zero if it is unknown.
func (w *walk) resources(kind string) (at time.Time, err error) {
	p, err := w.current(w.set.Pages)
	if err != nil {
		return at, err
	}
	page := w.src.site.Routes.Kinds[kind].Parts
	for r := range p.Ranges() {
		st, err := w.state(r)
		if err != nil {
			return at, err
		}
		if len(p.Cuts) == 1 {
			return p.At, w.put(kind, "", st.Version, st)
		}
		if err := w.put(page, partition.FormatRange(r), st.Version, st); err != nil {
			return at, err
		}
		if err := w.session.catchUp(w.ctx, w.writer); err != nil {
			return at, err
		}
	}
	return p.At, w.put(kind, "", digest(p.At.UnixNano(), p.Cuts), document.PartitionState(p, nil))
}
