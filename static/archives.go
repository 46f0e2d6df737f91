package static

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// archive puts an archive, with its pages, and the Change Lists that only the archive of a
// journal has. An archive of the host has no version, so its documents are always rendered.
func (w *walk) archive(c resourcesync.Capability) error {
	if a := w.set.ChangeArchiver; a != nil && c == resourcesync.ChangeListArchive {
		stat, err := during(w.ctx, w.writer, func() (resourcesync.ArchiveStat, error) { return a.StatArchive(w.ctx) })
		if err != nil {
			return err
		}
		windows, err := during(w.ctx, w.writer, func() ([]resourcesync.Interval, error) {
			return a.ArchivedWindows(w.ctx, w.src.site.Division.PageSize)
		})
		if err != nil {
			return err
		}
		for _, iv := range windows {
			if err := w.archivedWindow(iv, stat.Erased); err != nil {
				return err
			}
			if err := w.session.catchUp(w.ctx, w.writer); err != nil {
				return err
			}
		}
	}
	t := document.Target{Kind: w.src.site.Routes.Kinds[string(c)], Set: w.set}
	pages, err := during(w.ctx, w.writer, func() ([]partition.Span, error) { return t.ArchivePages(w.ctx) })
	if err != nil {
		return err
	}
	if len(pages) > 1 {
		for _, p := range pages {
			if err := w.put(t.Kind.Parts, partition.FormatTime(time.UnixMicro(p.From)), "", new(document.State)); err != nil {
				return err
			}
		}
	}
	return w.put(string(c), "", "", new(document.State))
}

// archivedWindow puts a Change List that only the archive has. The journal may have had it until a
// moment ago, so keepUp must not put it at the same time.
func (w *walk) archivedWindow(iv resourcesync.Interval, erased time.Time) error {
	defer w.session.putAlone()()
	return w.put(document.KindChangeWindow, partition.FormatTime(iv.From), closed(iv, erased), new(document.State))
}

// closed returns the version of the list of a closed interval of a journal, or of an archive
// from which a change was last erased at a time.
func closed(iv resourcesync.Interval, erased time.Time) string {
	return digest("closed", iv, document.Stamp(erased))
}
