package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"

	"github.com/resourcesync-go/resourcesync"
)

// places are the targets of temporary files during a Flush.
type places struct {
	*Folder
	known   map[string]error // what checkFolder has found
	changed map[string]bool  // folders to be written to disk
	at      placeFolder
}

// Flush implements [Flusher].
func (f *Folder) Flush(context.Context) error {
	done, err := f.done, f.writes.Wait()
	f.done, f.temp, f.writes = nil, 0, newWrites()
	if len(done) == 0 || err != nil {
		return err
	}
	p := &places{Folder: f, known: map[string]error{".": nil}, changed: make(map[string]bool)}
	defer p.at.close()
	var foreign []error
	for _, op := range done {
		err := p.move(op)
		if e, ok := errors.AsType[*ForeignError](err); ok {
			e.Key = op.name
			foreign = append(foreign, e)
			err = f.removeTemp(op.temp)
		}
		if err != nil {
			return err
		}
	}
	group := newWrites()
	for folder := range p.changed {
		group.Go(func() error { return f.syncFolder(folder) })
	}
	return errors.Join(append(foreign, group.Wait())...)
}

// move carries out op.
func (p *places) move(op operation) error {
	if op.temp == "" {
		return p.remove(op.name)
	}
	folder := path.Dir(op.name)
	if err := p.makeFolder(folder); err != nil {
		return err
	}
	if err := p.hook.Before("rename", op.name); err != nil {
		return err
	}
	p.changed[folder] = true
	if op.isNew {
		return p.add(op.temp, op.name)
	}
	if err := p.checkFile(op.name); err != nil {
		return err
	}
	return p.replace(op.temp, op.name)
}

// addRoot moves a temporary file to a place that is free, on any system.
func (f *Folder) addRoot(temp, name string) error {
	temp = tempFolder + "/" + temp
	err := f.root.Link(temp, name)
	if err == nil {
		return f.root.Remove(temp)
	}
	if _, found := f.root.Lstat(name); !errors.Is(found, fs.ErrNotExist) {
		return f.foreign(name)
	}
	return f.root.Rename(temp, name) // the file system has no hard links
}

// replaceRoot puts a temporary file in the place of a copy, on any system.
func (f *Folder) replaceRoot(temp, name string) error {
	return f.root.Rename(tempFolder+"/"+temp, name)
}

// checkFileRoot returns an error if the file at the place of a copy cannot be a copy, on any
// system.
func (f *Folder) checkFileRoot(name string) error {
	info, err := f.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return f.foreign(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// foreign returns the error for the file at name.
func (f *Folder) foreign(name string) error {
	kind := "a file"
	if info, err := f.root.Lstat(name); err == nil {
		switch mode := info.Mode(); {
		case mode.IsDir():
			kind = "a folder"
		case mode&fs.ModeSymlink != 0:
			kind = "a symbolic link"
		case !mode.IsRegular():
			kind = "a special file"
		}
	}
	return &ForeignError{Key: name, Name: f.describe(name), Kind: kind}
}

// describe returns a path for people.
func (f *Folder) describe(name string) string { return filepath.Join(f.name, filepath.FromSlash(name)) }

// checkFolder returns nil if a folder and its parents are folders and not symbolic links,
// fs.ErrNotExist, or a ForeignError.
func (p *places) checkFolder(folder string) error {
	err, known := p.known[folder]
	if known {
		return err
	}
	if err = p.checkFolder(path.Dir(folder)); err == nil {
		var info fs.FileInfo
		if info, err = p.root.Lstat(folder); err == nil && !info.IsDir() {
			err = p.foreign(folder)
		}
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		p.known[folder] = err
	}
	return err
}

// makeFolder makes a folder with those above it, unless they exist.
func (p *places) makeFolder(folder string) error {
	err := p.checkFolder(folder)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := path.Dir(folder)
	if err := p.makeFolder(above); err != nil {
		return err
	}
	if err := p.hook.Before("mkdir", folder); err != nil {
		return err
	}
	delete(p.known, folder)
	err = p.root.Mkdir(folder, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return p.checkFolder(folder)
	}
	if err != nil {
		return err
	}
	p.known[folder] = nil
	p.changed[above] = true
	if p.folders != nil {
		p.folders.Made(folder)
	}
	return nil
}

// remove removes a copy, and the folders that it leaves empty if they have been made for copies.
// Anything but a file is not a copy.
func (p *places) remove(name string) error {
	folder := path.Dir(name)
	err := p.checkFolder(folder)
	if err == nil {
		if err = p.checkFile(name); err == nil {
			if err = p.hook.Before("remove", name); err == nil {
				err = p.root.Remove(name)
			}
		}
		p.changed[folder] = true
	}
	if _, foreign := errors.AsType[*ForeignError](err); foreign {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.removeFolders(folder)
}

// removeFolders removes a folder and its parents, up to the first that is not empty or was
// not made for copies.
func (p *places) removeFolders(folder string) error {
	for ; folder != "." && p.folders != nil; folder = path.Dir(folder) {
		if made, err := p.folders.IsMade(folder); err != nil || !made {
			return err
		}
		switch err := p.checkFolder(folder); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil // something else has taken its place
		default:
			if err := p.hook.Before("remove", folder); err != nil {
				return err
			}
			if p.root.Remove(folder) != nil {
				return nil // it is not empty
			}
			p.at.close()
			p.changed[path.Dir(folder)] = true
		}
		delete(p.changed, folder)
		p.known[folder] = fs.ErrNotExist
		p.folders.Removed(folder)
	}
	return nil
}

// removeTemp removes a temporary file.
func (f *Folder) removeTemp(temp string) error {
	if temp == "" {
		return nil
	}
	if err := f.hook.Before("remove", tempFolder+"/"+temp); err != nil {
		return err
	}
	return f.temps.Remove(temp)
}

// syncFolder writes the names in a folder to disk. Windows does that itself.
func (f *Folder) syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	if err := f.hook.Before("sync", name); err != nil {
		return err
	}
	folder, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Open implements [Verifier].
func (f *Folder) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return f.open(r.Key)
}

// Identify implements [Verifier]: by size and modification time, which survive a move of the folder to
// another disk.
func (f *Folder) Identify(_ context.Context, keys []string) ([]string, error) {
	p := &places{Folder: f, known: map[string]error{".": nil}}
	identities := make([]string, len(keys))
	for i, key := range keys {
		err := p.checkFolder(path.Dir(key))
		if err == nil {
			var info fs.FileInfo
			if info, err = f.root.Lstat(key); err == nil && info.Mode().IsRegular() {
				identities[i] = fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
			}
		}
		if _, foreign := errors.AsType[*ForeignError](err); err != nil && !foreign && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return identities, nil
}

// openRoot opens a file of the folder on any system.
func (f *Folder) openRoot(name string) (io.ReadCloser, error) {
	p := &places{Folder: f, known: map[string]error{".": nil}}
	err := p.checkFolder(path.Dir(name))
	if err == nil {
		err = f.checkFileRoot(name)
	}
	if err != nil {
		return nil, err
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err // not a nil *os.File
	}
	return file, nil
}
