package simulation

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// A process runs operations of the Destination until it ends or is killed. After a kill, it
// continues on a disk that is discarded: the disk of the next process has the state at the
// moment of the kill.
type process struct {
	w      *World
	number int // of the operation
	source string
	folder string
	cancel context.CancelFunc
	d      Destination

	mu   sync.Mutex
	dead bool
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// grows are the operations that need space on the disk.
var grows = map[string]bool{"create": true, "write": true, "mkdir": true, "commit": true}

// hook is called before each operation on files and on the state.
func (p *process) hook(operation, name string) error {
	if rel, err := filepath.Rel(p.folder, name); err == nil && filepath.IsAbs(name) {
		name = filepath.ToSlash(rel)
	}
	what := operation + " " + name
	nth := p.w.count(what)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errKilled
	}
	f := p.w.diskFault(operation, what, nth)
	if f.kind != "" {
		p.w.setFailing(true)
	}
	switch f.kind {
	case "kill":
		p.w.fire(plannedFault{what, nth, f})
		p.dead = true
		p.w.snapshot(p.folder)
		p.cancel()
		return errKilled
	case "full":
		p.w.fire(plannedFault{what, nth, f})
		return &fs.PathError{Op: operation, Path: name, Err: syscall.ENOSPC}
	}
	// The capacity applies to files. Several simultaneous writes may exceed it. The state, which
	// does not count, must then be able to record their deletion.
	if grows[operation] && operation != "commit" && p.w.Capacity > 0 && used(p.folder) >= p.w.Capacity {
		return &fs.PathError{Op: operation, Path: name, Err: syscall.ENOSPC}
	}
	return nil
}

// diskFault returns the fault of an operation on the disk: "kill", "full" or nothing.
func (w *World) diskFault(operation, what string, nth int) fault {
	if w.calm() {
		return fault{}
	}
	for _, f := range w.planned {
		if f.what == what && f.nth == nth {
			return f.fault
		}
	}
	switch {
	case operation != "statement" && w.happens(w.Kills, "kill", what, nth):
		return fault{"kill", 0}
	case grows[operation] && w.happens(w.Full, "full", what, nth):
		return fault{"full", 0}
	}
	return fault{}
}

func (w *World) setFailing(failing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = failing
}

func (w *World) diskHasFailed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failing
}

// used returns the bytes of the files below a folder, without the state.
func used(folder string) (n int) {
	filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "state.db") {
			return nil
		}
		if info, err := d.Info(); err == nil {
			n += int(info.Size())
		}
		return nil
	})
	return n
}

// snapshot copies the disk of a process that is killed. Other goroutines may be writing, as in a
// real kill.
func (w *World) snapshot(from string) {
	w.mu.Lock()
	w.copies++
	to := w.folder()
	w.mu.Unlock()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, failed := filepath.Rel(from, path)
		if err != nil || failed != nil {
			return nil // it was just removed
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		return copyFile(filepath.Join(to, rel), path)
	})
	if err != nil {
		w.broken(err)
	}
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return nil // it was just renamed or removed
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
