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
		stat, err := a.StatArchive(w.ctx)
		if err != nil {
			return err
		}
		windows, err := a.ArchivedWindows(w.ctx, w.src.site.Division.PageSize)
		if err != nil {
			return err
		}
		for _, iv := range windows {
			if err := w.put(document.KindChangeWindow, partition.FormatTime(iv.From), closed(iv, stat.Erased), new(document.State)); err != nil {
				return err
			}
		}
	}
	t := document.Target{Kind: w.src.site.Routes.Kinds[string(c)], Set: w.set}
	pages, err := t.ArchivePages(w.ctx)
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

// closed returns the version of the list of a closed interval of a journal, or of an archive
// from which a change was last erased at a time.
func closed(iv resourcesync.Interval, erased time.Time) string {
	return digest("closed", iv, document.Stamp(erased))
}
