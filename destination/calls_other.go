//go:build !linux

package destination

import (
	"io"
	"time"
)

// open opens a file of the folder.
func (f *Folder) open(name string) (io.ReadCloser, error) { return f.openRoot(name) }

// storeText creates a temporary file with text, and writes it to disk.
func (f *Folder) storeText(temp string, text []byte, modified time.Time) error {
	return f.storeRoot(temp, text, modified)
}

// setModified sets the modification time of a temporary file, if it is known and the file system
// does not refuse it: it is a hint for people.
func (f *Folder) setModified(temp string, modified time.Time) {
	if !modified.IsZero() {
		f.temps.Chtimes(temp, time.Now(), modified)
	}
}

// A placeFolder is only used on Linux.
type placeFolder struct{}

func (placeFolder) close() {}

// add moves a temporary file to a place that is free.
func (p *places) add(temp, name string) error { return p.addRoot(temp, name) }

// replace puts a temporary file in the place of a copy.
func (p *places) replace(temp, name string) error { return p.replaceRoot(temp, name) }

// checkFile returns an error if the file at the place of a copy cannot be a copy.
func (p *places) checkFile(name string) error { return p.checkFileRoot(name) }
