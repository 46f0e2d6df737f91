package static

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// changes puts the Change List, with the windows if it is an index. The list of recent changes follows, in
// recentChanges, unless the index has none to link to.
func (w *walk) changes() error {
	defer w.session.putAlone()()
	st, windows, err := w.journal()
	if err != nil {
		return err
	}
	version := digestIn(st, windows)
	if len(windows) > 1 {
		version = digest(windows)
		if err := w.windows(st, windows); err != nil {
			return err
		}
	}
	name := w.name(document.KindRecentChanges, "")
	switch f := w.known.Files[name]; {
	case f != nil && f.Plain != (Stamp{}):
		w.noteListed(name)
	case f != nil || len(windows) > 1:
		if err := w.putRecent(st, windows); err != nil {
			return err
		}
	}
	if err := w.put(document.KindChangeList, "", version, &document.State{Windows: windows}); err != nil {
		return err
	}
	if w.session != nil {
		w.session.windows[w.set.Name] = windows
	}
	return nil
}

// journal returns the state of the journal, and its windows.
func (w *walk) journal() (*document.State, []resourcesync.Interval, error) {
	// The state comes before the windows: they may show later changes.
	st, err := document.JournalState(w.ctx, document.Target{Set: w.set}, nil)
	if err != nil {
		return nil, nil, err
	}
	windows, err := w.set.Windows.Get(w.ctx)
	if err != nil {
		return nil, nil, err
	}
	if w.session != nil {
		if list, found := w.known.Lists[w.set.Name]; found && !list.isCovered(beginning(windows)) {
			return nil, nil, errListDue
		}
	}
	return st, windows, nil
}

// windows puts the Change Lists of an index.
func (w *walk) windows(st *document.State, windows []resourcesync.Interval) error {
	for _, iv := range windows {
		part := partition.FormatTime(iv.From)
		if w.session != nil && w.session.hasPut(w.set, iv) {
			w.noteListed(w.name(document.KindChangeWindow, part))
			continue
		}
		version := digestIn(st, iv)
		if !iv.Open() {
			version = closed(iv, time.Time{})
		}
		if err := w.put(document.KindChangeWindow, part, version, &document.State{Windows: windows}); err != nil {
			return err
		}
	}
	return nil
}

// recentEvery is the minimum time between two versions of the list of recent changes. It has up to
// 49,000 changes, and is for Destinations that read no index.
const recentEvery = time.Minute

// recentChanges brings the list of recent changes, to which an index links, up to date. The list is
// large, so this is a step of its own, for which the Change List does not wait. Its readers read
// nothing else, so a list that exists stays, and follows the journal even if that starts over.
func (w *walk) recentChanges() error {
	f := w.known.Files[w.name(document.KindRecentChanges, "")]
	if f == nil || f.Plain == (Stamp{}) || time.Since(w.recent[w.set.Name]) < recentEvery {
		return nil
	}
	st, windows, err := w.journal()
	if err != nil {
		return err
	}
	return w.putRecent(st, windows)
}

func (w *walk) putRecent(st *document.State, windows []resourcesync.Interval) error {
	if err := w.put(document.KindRecentChanges, "", digestIn(st, windows), st); err != nil {
		return err
	}
	w.recent[w.set.Name] = time.Now()
	return nil
}

// digestIn returns the version of a document that depends on the state st and on values.
func digestIn(st *document.State, values ...any) string {
	if st.Version == "" {
		return ""
	}
	return digest(append(values, st.Version)...)
}

func digest(values ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, values...))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
