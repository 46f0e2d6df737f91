package destination

import (
	"cmp"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// An os.Root makes several system calls for each folder of a name, and an os.File some more to
// learn that a file cannot be polled. They take most of the time for a small file, so files are
// created, opened and moved directly. Symbolic links are not followed. Where this fails, the
// os.Root is used, which also has the better errors.

// openAt opens a file or folder.
func (f *Folder) openAt(name string, flags uint64) (fd int, err error) {
	return unix.Openat2(int(f.dir.Fd()), filepath.FromSlash(name), &unix.OpenHow{
		Flags: flags | unix.O_CLOEXEC | unix.O_LARGEFILE, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
}

// open opens a file of the folder.
func (f *Folder) open(name string) (io.ReadCloser, error) {
	fd, err := f.openAt(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return f.openRoot(name)
	}
	var info unix.Stat_t
	if unix.Fstat(fd, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, f.foreign(name)
	}
	return &contentFile{fd, name}, nil
}

// storeText creates a temporary file with text, and writes it to disk.
func (f *Folder) storeText(temp string, text []byte, modified time.Time) error {
	fd, err := unix.Openat(int(f.tempDir.Fd()), temp, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|unix.O_LARGEFILE|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return f.storeRoot(temp, text, modified)
	}
	for len(text) > 0 && err == nil {
		n := 0
		err = uninterrupted(func() error { n, err = unix.Write(fd, text); return err })
		text = text[max(n, 0):]
	}
	if err == nil {
		f.setModified(temp, modified)
		err = uninterrupted(func() error { return unix.Fsync(fd) })
	}
	if closed := unix.Close(fd); err == nil {
		err = closed
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: f.describe(tempFolder + "/" + temp), Err: err}
	}
	return nil
}

// uninterrupted repeats a system call that a signal interrupts.
func uninterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// setModified sets the modification time of a temporary file, if it is known and the file system
// does not refuse it: it is a hint for people.
func (f *Folder) setModified(temp string, modified time.Time) {
	if at, err := unix.TimeToTimespec(modified); err == nil && !modified.IsZero() {
		unix.UtimesNanoAt(int(f.tempDir.Fd()), temp, []unix.Timespec{{Nsec: unix.UTIME_NOW}, at}, unix.AT_SYMLINK_NOFOLLOW)
	}
}

// A placeFolder is the folder of the last place, which stays open.
type placeFolder struct {
	isOpen bool
	name   string
	fd     int
}

// in returns the folder of name, and the name in it. If ok is false, it cannot be opened.
func (p *places) in(name string) (fd int, base string, ok bool) {
	folder, base := path.Split(name)
	if p.at.isOpen && p.at.name == folder {
		return p.at.fd, base, true
	}
	p.at.close()
	fd, err := p.openAt(cmp.Or(folder, "."), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return 0, "", false
	}
	p.at = placeFolder{true, folder, fd}
	return fd, base, true
}

func (f *placeFolder) close() {
	if f.isOpen {
		unix.Close(f.fd)
		f.isOpen = false
	}
}

// add moves a temporary file to a place that is free.
func (p *places) add(temp, name string) error {
	if fd, base, ok := p.in(name); ok {
		switch unix.Renameat2(int(p.tempDir.Fd()), temp, fd, base, unix.RENAME_NOREPLACE) {
		case nil:
			return nil
		case unix.EEXIST:
			return p.foreign(name)
		}
		p.at.close() // it may have been removed and made again
	}
	return p.addRoot(temp, name)
}

// replace puts a temporary file in the place of a copy.
func (p *places) replace(temp, name string) error {
	if fd, base, ok := p.in(name); ok {
		if unix.Renameat(int(p.tempDir.Fd()), temp, fd, base) == nil {
			return nil
		}
		p.at.close()
	}
	return p.replaceRoot(temp, name)
}

// checkFile returns an error if the file at the place of a copy cannot be a copy.
func (p *places) checkFile(name string) error {
	if fd, base, ok := p.in(name); ok {
		var info unix.Stat_t
		err := unix.Fstatat(fd, base, &info, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.ENOENT || err == nil && info.Mode&unix.S_IFMT == unix.S_IFREG {
			return nil
		}
	}
	return p.checkFileRoot(name)
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
		return os.ErrClosed // another file may have its number now
	}
	fd := c.fd
	c.fd = -1
	return unix.Close(fd)
}
