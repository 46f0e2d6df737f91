package check

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// isPart reports whether an entry of a urlset belongs to an index: it leads to a document with the
// capability of this one.
func (d *document) isPart(e *rsxml.Entry) bool { return !d.head.Index && tree.IsPart(&d.head, e) }

// missedIn says what harvesters miss if they read an index as a list.
var missedIn = map[resourcesync.Capability]string{
	resourcesync.ResourceList: "resources", resourcesync.ResourceDump: "packages", resourcesync.ChangeList: "changes", resourcesync.ChangeDump: "packages",
}

// checkBounds compares the interval of an entry with the interval of its index or dump.
func (r *entryRules) checkBounds(m *rsxml.Metadata, at place) {
	until := r.head.Metadata.Until
	switch {
	case until.IsZero() || until.Before(r.head.Metadata.From):
	case m.Until.After(until):
		r.add("until-after-index", at, section(r.capability, true), "until is %s, but until of this document is %s", m.Until.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano))
	case m.Until.IsZero() && !m.From.IsZero():
		r.add("open-in-closed-index", at, "", "the entry has no until, but this document has been closed since %s", until.Format(time.RFC3339Nano))
	}
}

// checkPackage checks an entry of a Resource Dump or a Change Dump.
func (r *entryRules) checkPackage(e *rsxml.Entry, at place) {
	format := formatOf(e)
	switch {
	case format == "" || format == r.format:
	case r.format == "":
		r.format = format
	case !r.mixed:
		r.mixed = true
		r.add("package-formats", at, r.section(), "the format of %s is %s, but earlier packages are %s", e.Loc, format, r.format)
	}
}

// formatOf returns the format of a package by its media type, or by the end of its path.
func formatOf(e *rsxml.Entry) string {
	media, _, _ := strings.Cut(strings.ToLower(e.Metadata.Type), ";")
	switch media = strings.TrimSpace(media); media {
	case "":
	case "application/x-zip-compressed", "application/x-zip", "application/zip":
		return "ZIP"
	case "application/octet-stream":
	default:
		return media
	}
	loc, _, _ := strings.Cut(e.Loc, "?")
	end := strings.ToLower(path.Ext(loc))
	switch {
	case end == ".zip":
		return "ZIP"
	case slices.Contains([]string{".7z", ".bz2", ".gz", ".tar", ".tgz", ".warc", ".xz", ".zst"}, end):
		return end
	}
	return ""
}

// endParts reports an index that is written as a list.
func (r *entryRules) endParts() {
	if r.parts.count > 0 {
		what := fmt.Sprint("the ", missedIn[r.capability], " in them")
		r.add("index-as-urlset", r.parts.first, "", "%d of %d entries of the urlset are %s documents, such as %s: harvesters take them for entries of a list, and miss %s",
			r.parts.count, r.entries, r.capability, r.part, what)
	}
}
