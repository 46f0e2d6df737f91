package document

import (
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// kinds returns the kinds of documents of a Source. channels states that some set has
// notification channels.
func kinds(o *Config, d *Description, channels bool) []*Kind {
	var (
		every    = func(*Set) bool { return true }
		list     = has(resourcesync.ResourceList)
		dump     = has(resourcesync.ResourceDump)
		changes  = has(resourcesync.ChangeList)
		versions = has(resourcesync.ChangeDump)
		pages    = func(st *Set) *partition.Partitioner { return st.Pages }
		packages = func(st *Set) *partition.Partitioner { return st.Packages }
	)
	rows := []*Kind{
		{Name: KindDescription, path: wellknown.Path, html: true, Render: d.render},
		{Name: KindDescriptionPart, path: "description/" + byNumber + ".xml", Render: d.render},
		{Name: KindCapabilityList, path: "capabilitylist.xml", Needs: every, Capability: resourcesync.CapabilityList, html: true, Render: renderCapabilityList},

		{Name: KindResourceList, path: "resourcelist.xml", Needs: list, Parts: KindResourcePage, Capability: resourcesync.ResourceList, State: listState, html: true, Render: renderResourceList},
		{Name: KindResourcePage, path: "resourcelist/" + byKeys + ".xml", Needs: list, Parent: KindResourceList, Capability: resourcesync.ResourceList, ranges: pages, listed: isRange, State: rangeState, html: true, Render: renderResourcePage},

		{Name: KindResourceDump, path: "resourcedump.xml", Needs: dump, Parts: KindDumpPart, Capability: resourcesync.ResourceDump, State: dumpState, html: true, Render: renderResourceDump},
		{Name: KindDumpPart, path: "resourcedumps/" + byKeys + ".xml", Needs: dump, Parent: KindResourceDump, Capability: resourcesync.ResourceDump, listed: isDumpPart, State: dumpState, html: true, Render: renderResourceDump},
		{Name: KindDumpManifest, path: "resourcedump/" + byKeys + ".xml", Needs: dump, Capability: resourcesync.ResourceDumpManifest, ranges: packages, listed: isRange, State: rangeState, html: true, Render: renderManifest},
		{Name: KindDumpPackage, path: "resourcedump/" + byKeys + ".zip", Needs: dump, Manifest: KindDumpManifest, ranges: packages, listed: isRange, State: rangeState, Form: FormPackage},

		{Name: KindChangeList, path: "changelist.xml", Needs: changes, Parts: KindChangeWindow, Capability: resourcesync.ChangeList, State: JournalState, html: true, Render: renderChangeList},
		{Name: KindRecentChanges, path: "changelist/recent.xml", Needs: changes, Capability: resourcesync.ChangeList, State: JournalState, html: true, Render: renderRecentChanges},
		{Name: KindChangeWindow, path: "changelist/" + byTime + ".xml", Needs: changes, Parent: KindChangeList, Capability: resourcesync.ChangeList, listed: isWindow, State: JournalState, html: true, Render: renderChangeWindow},

		{Name: KindChangeDump, path: "changedump.xml", Needs: versions, Parts: KindChangeDumpPart, Capability: resourcesync.ChangeDump, State: changeDumpState, html: true, Render: renderChangeDump},
		{Name: KindChangeDumpPart, path: "changedumps/" + byTime + ".xml", Needs: versions, Parent: KindChangeDump, Capability: resourcesync.ChangeDump, listed: isChangePackage, State: changeDumpState, html: true, Render: renderChangeDumpPart},
		{Name: KindChangeManifest, path: "changedump/" + byInterval + ".xml", Needs: versions, Capability: resourcesync.ChangeDumpManifest, listed: isChangePackage, State: JournalState, html: true, Render: renderManifest},
		{Name: KindChangePackage, path: "changedump/" + byInterval + ".zip", Needs: versions, Manifest: KindChangeManifest, listed: isChangePackage, State: JournalState, Form: FormPackage},
		{Name: kindMemento, path: "memento", Needs: func(st *Set) bool { return st.Memento }, Form: FormVersion},
	}
	for _, c := range archives {
		path := strings.ReplaceAll(string(c), "-", "")
		rows = append(rows,
			&Kind{Name: string(c), path: path + ".xml", Needs: has(c), Parts: string(c) + archivePage, Capability: c, State: archiveState, html: true, Render: renderArchive},
			&Kind{Name: string(c) + archivePage, path: path + "/" + byTime + ".xml", Needs: has(c), Parent: string(c), Capability: c, listed: isNever, State: archiveState, html: true, Render: renderArchive})
	}
	if o.PlainSitemaps {
		rows = append(rows,
			&Kind{Name: KindSitemap, path: "sitemap.xml", Needs: list, Parts: KindSitemapPage, State: listState, Render: renderResourceList},
			&Kind{Name: KindSitemapPage, path: "sitemap/" + byKeys + ".xml", Needs: list, Parent: KindSitemap, ranges: pages, listed: isRange, State: rangeState, Render: renderResourcePage})
	}
	for _, c := range []resourcesync.Capability{resourcesync.ChangeNotification, resourcesync.FrameworkNotification} {
		has, path := has(c), strings.TrimSuffix(string(c), "-notification")+"/"
		if channels { // a topic must name its hubs
			rows = append(rows, &Kind{Name: string(c), path: path, Needs: func(st *Set) bool { return has(st) && len(st.Hubs) > 0 }, Form: FormTopic, html: true})
		}
		if o.Sockets {
			rows = append(rows, &Kind{Name: string(c) + Socket, path: path + "websocket", Needs: has, Form: FormSocket})
		}
	}
	return withPages(rows, o)
}

// has returns the condition that a set offers c.
func has(c resourcesync.Capability) func(*Set) bool {
	return func(st *Set) bool { return st.Has(c) }
}

// withPages returns rows and the kinds of their pages, if o turns them on.
func withPages(rows []*Kind, o *Config) []*Kind {
	for _, k := range rows {
		if !k.html || !o.HTML {
			continue
		}
		path := strings.TrimSuffix(strings.TrimSuffix(k.path, "/"), ".xml") + ".html"
		if k.Name == KindDescription {
			path = "description.html"
		}
		k.Page = &Kind{Name: k.Name + PageOf, path: path, Needs: k.Needs, Document: k, listed: alwaysUnlisted(k), Form: formPage}
		rows = append(rows, k.Page)
	}
	return rows
}

// alwaysUnlisted returns the function listed of the page of k. Pages share the places of
// unlisted documents, so that people never displace harvesters.
func alwaysUnlisted(k *Kind) func(Target) bool {
	if k.Needs == nil {
		return nil
	}
	return isNever
}
