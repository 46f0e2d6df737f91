//go:build !linux

package destination

import (
	"io"
	"os"
)

// open opens a file of the folder.
func (f *Folder) open(name string) (io.ReadCloser, error) { return f.openRoot(name) }

// openTemp opens or makes a temporary file.
func (f *Folder) openTemp(temp string, flags int) (*os.File, error) {
	return f.openTempRoot(temp, flags)
}

// places are where temporary files are moved to.
type places struct{ *Folder }

// rename puts a temporary file in its place.
func (p *places) rename(temp, name string) error { return p.renameRoot(temp, name) }

func (p *places) close() {}
