package sqlitedb

import (
	"encoding/binary"
	"os"
	"syscall"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A logWatch reports writes to a write-ahead log, by any process of the system.
type logWatch struct {
	path    string
	fd      int
	file    *os.File // of fd
	reports chan struct{}
}

// watchLog returns a watch of the log at path, or nil if the system refuses one.
func watchLog(path string) *logWatch {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	w := &logWatch{path, fd, os.NewFile(uintptr(fd), "inotify"), make(chan struct{}, 1)}
	go w.receive()
	return w
}

// arm requests a report of the next write. It reports whether there will be one: the log
// may not exist yet. Only one write is reported, because a commit has many.
func (w *logWatch) arm() bool {
	if w == nil {
		return false
	}
	_, err := syscall.InotifyAddWatch(w.fd, w.path, syscall.IN_MODIFY|syscall.IN_ONESHOT)
	return err == nil
}

// written receives the reports.
func (w *logWatch) written() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.reports
}

// receive receives events until the watch is closed.
func (w *logWatch) receive() {
	b := make([]byte, 64*syscall.SizeofInotifyEvent) // events of a file have no name
	for {
		n, err := w.file.Read(b)
		if err != nil {
			return
		}
		for e := b[:n]; len(e) >= syscall.SizeofInotifyEvent; e = e[syscall.SizeofInotifyEvent:] {
			if binary.NativeEndian.Uint32(e[4:])&syscall.IN_MODIFY != 0 {
				background.Signal(w.reports)
			}
		}
	}
}

func (w *logWatch) close() {
	if w != nil {
		w.file.Close()
	}
}
