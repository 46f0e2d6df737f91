package simulation

import (
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
)

// judgeAudit judges the report of an audit of a Source that did not change meanwhile. It must state
// the differences that the documents show, and no others. An undecided case is not called a
// difference.
func (w *World) judgeAudit(a *destination.AuditReport) {
	files := w.files()
	for name := range w.user {
		delete(files, name)
	}
	unseen := int64(0)
	for _, v := range w.listed() {
		name, has := w.placeOf(files, &v)
		text := files[name]
		delete(files, name)
		uri, current := v.uri(), text == string(v.content())
		missing, differs, damaged := w.has(a.Missing.URIs, v.name), w.has(a.Differs.URIs, v.name), w.has(a.Damaged.URIs, v.name)
		switch {
		case current && (missing || differs || damaged):
			w.fail("audit", "%s is current, but the audit says: missing %v, differs %v, damaged %v", v.name, missing, differs, damaged)
		case damaged && !w.damaged[localname.Of(uri, Host)]:
			w.fail("audit", "the audit says that %s is damaged, which it is not", v.name)
		case w.has(a.Extra.URIs, v.name):
			w.fail("audit", "the audit says that %s is extra, but the Source has it", v.name)
		case current || missing || differs || damaged:
		case !has, w.shows(&v, text):
			unseen++
			w.event("the audit does not name %s", v.name)
		}
	}
	for at, text := range files {
		if text == "edited" && w.claimed[at] {
			continue
		}
		name, _, _ := strings.Cut(text, " ")
		if damaged := w.has(a.Damaged.URIs, at); !damaged && !w.has(a.Extra.URIs, name) && !w.isServed(text) {
			unseen++
			w.event("the audit does not name %s, which the Source does not have", name)
		}
	}
	if unseen > a.Undecided {
		w.fail("audit", "the audit does not name %d differences, and counts only %d as undecided", unseen, a.Undecided)
	}
}

// placeOf returns the name of the file that is the copy of a version.
func (w *World) placeOf(files map[string]string, v *version) (name string, ok bool) {
	for _, at := range w.places(v.name) {
		if _, has := files[at]; has && strings.HasPrefix(files[at], v.name+" ") || has && !ok {
			name, ok = at, true
		}
	}
	return name, ok
}

// listed returns the current versions of the Source, in the order of their names.
func (w *World) listed() []version {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]version, 0, len(w.truth))
	for _, r := range w.truth {
		if w.isListed(r) {
			all = append(all, r.version)
		}
	}
	slices.SortFunc(all, func(a, b version) int { return strings.Compare(a.name, b.name) })
	return all
}

// shows reports whether the documents distinguish a version from the one with the
// content text.
func (w *World) shows(v *version, text string) bool {
	w.mu.Lock()
	have, known := w.version(v.name, text)
	noted := w.hasChange(v)
	w.mu.Unlock()
	shown := (&foreign{w}).time
	switch {
	case !known || !w.NoHash || !w.NoLength && len(v.content()) != len(text):
		return true
	case w.Source != "":
		return false
	}
	return w.hasLastMod() && shown(v.lastmod) != shown(have.lastmod) || noted && w.Changes == "" && shown(v.at) != shown(have.at)
}
