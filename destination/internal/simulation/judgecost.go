package simulation

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
)

// maxOpen is the number of responses that a Destination may read at a time: four resources, a
// document within an index within another one, and a package.
const maxOpen = 8

// judgeCost judges the cost of an operation: the number of its requests, of the responses that it read at
// a time, and of those that it did not close. rounds is how often it may have read everything.
func (w *World) judgeCost(process, rounds int) {
	w.mu.Lock()
	n, faulty := 0, 0
	for _, r := range w.requests {
		if r.process == process {
			n++
			if r.faulty {
				faulty++
			}
		}
	}
	documents := 3 + w.sets()*(6+2*w.Parts)
	for _, e := range w.log {
		if e.verb == "close" {
			documents += 3 * w.sets()
		}
	}
	if w.Dumps != "" {
		documents += w.sets() * (4 + 2*w.Parts)
	}
	if w.Source != "" {
		documents += w.sets() * 3 * len(w.log)
	}
	limit := rounds*(10+2*documents+2*len(w.versions)) + 10*faulty
	most, left := w.most, w.open
	w.most = 0
	w.mu.Unlock()
	if n > limit {
		w.fail("requests", "operation %d sent %d requests, %d of them with faults; the limit is %d", process, n, faulty, limit)
	}
	if most > maxOpen || left != 0 {
		w.fail("memory", "operation %d read %d responses at a time, and left %d open", process, most, left)
	}
}

// stateLimit is the maximum size of the state of a history: of its resources, changes and documents.
func (w *World) stateLimit() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return 256<<10 + int64(len(w.log))*4<<10
}

// judgeState judges the folder of the state after the last run.
func (w *World) judgeState() {
	folder := filepath.Join(w.folder(), localname.State)
	size := int64(0)
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if size += info.Size(); !strings.HasPrefix(d.Name(), "state.db") {
			w.fail("memory", "the last run left the file %s", d.Name())
		}
		return nil
	})
	if err != nil {
		w.broken(err)
	}
	if limit := w.stateLimit(); size > limit {
		w.fail("memory", "the state has %d bytes; the limit is %d", size, limit)
	}
}
