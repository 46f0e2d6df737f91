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

// changes puts the Change List, with the windows and the recent changes if it is an index.
func (w *walk) changes() (err error) {
	// The state comes before the windows: they may show later changes.
	st, err := document.JournalState(w.ctx, document.Target{Set: w.set}, nil)
	if err != nil {
		return err
	}
	windows, err := w.set.Windows.Get(w.ctx)
	if err != nil {
		return err
	}
	if w.session != nil {
		if list, found := w.known.Lists[w.set.Name]; found && !list.isCovered(beginning(windows)) {
			return errListDue
		}
		defer func() {
			if err == nil {
				w.session.windows[w.set.Name] = windows
			}
		}()
	}
	version := digestIn(st, windows)
	if len(windows) > 1 {
		version = digest(windows)
		if err := w.windows(st, windows); err != nil {
			return err
		}
	}
	if err := w.recentChanges(st, windows); err != nil {
		return err
	}
	return w.put(document.KindChangeList, "", version, &document.State{Windows: windows})
}

// windows puts the Change Lists of an index.
func (w *walk) windows(st *document.State, windows []resourcesync.Interval) error {
	for _, iv := range windows {
		part := partition.FormatTime(iv.From)
		if w.session != nil && w.session.hasPut(w.set, iv) {
			w.live[w.name(document.KindChangeWindow, part)] = true
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

// recentChanges puts the list of recent changes beside an index. Its readers look at nothing else, so
// one that exists stays, and follows the journal even if that begins anew.
func (w *walk) recentChanges(st *document.State, windows []resourcesync.Interval) error {
	name := w.name(document.KindRecentChanges, "")
	switch {
	case len(windows) == 1 && w.known.Files[name] == nil:
		return nil
	case w.session != nil && !w.session.recentIsDue(w.set, w.now):
		w.live[name] = true
		return nil
	}
	if err := w.put(document.KindRecentChanges, "", digestIn(st, windows), st); err != nil {
		return err
	}
	w.session.notedRecent(w.set, w.now)
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
