package destination

import (
	"cmp"
	"io"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// An os.Root makes several calls of the system for each folder of a name, and an os.File some
// more to learn that a file cannot be polled. That is most of the time for a small file, so
// files are made, opened and moved directly. Symbolic links do not lead out of the folder, as
// in an os.Root. What is not possible this way is left to it, and it has the better errors.

// openAt opens a file or folder.
func (f *Folder) openAt(name string, flags uint64) (fd int, err error) {
	return unix.Openat2(int(f.dir.Fd()), filepath.FromSlash(name), &unix.OpenHow{
		Flags: flags | unix.O_CLOEXEC | unix.O_LARGEFILE, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// open opens a file of the folder.
func (f *Folder) open(name string) (io.ReadCloser, error) {
	fd, err := f.openAt(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return f.openRoot(name)
	}
	return &contentFile{fd, name}, nil
}

// openTemp opens or makes a temporary file.
func (f *Folder) openTemp(temp string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(f.tempDir.Fd()), temp, flags|unix.O_CLOEXEC|unix.O_LARGEFILE|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return f.openTempRoot(temp, flags)
	}
	return os.NewFile(uintptr(fd), temp), nil
}

// places are where temporary files are moved to. The folder of the last one stays open.
type places struct {
	*Folder
	isOpen bool
	folder string
	fd     int
}

// rename puts a temporary file in its place.
func (p *places) rename(temp, name string) error {
	folder, base := path.Split(name)
	if !p.isOpen || p.folder != folder {
		p.close()
		fd, err := p.openAt(cmp.Or(folder, "."), unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return p.renameRoot(temp, name)
		}
		p.isOpen, p.folder, p.fd = true, folder, fd
	}
	if unix.Renameat(int(p.tempDir.Fd()), temp, p.fd, base) != nil {
		p.close() // it may have been removed and made again
		return p.renameRoot(temp, name)
	}
	return nil
}

func (p *places) close() {
	if p.isOpen {
		unix.Close(p.fd)
		p.isOpen = false
	}
}

// A contentFile is a file that is read once.
type contentFile struct {
	fd   int
	name string
}

// Read implements [io.Reader].
func (c *contentFile) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(c.fd, p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, &os.PathError{Op: "read", Path: c.name, Err: err}
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Close implements [io.Closer].
func (c *contentFile) Close() error {
	if c.fd < 0 {
		return os.ErrClosed // its number may be that of another file now
	}
	fd := c.fd
	c.fd = -1
	return unix.Close(fd)
}
