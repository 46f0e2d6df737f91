package state

import (
	"errors"
	"strings"

	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
)

// Reservations are paths, folded, that resources get whose copies are not recorded yet.
type reservations struct {
	paths   map[string]bool
	folders map[string]bool // above them
}

// FreePath returns a path for the copy of a new resource that is not the path of another
// one, nor a folder of it, nor inside of it, on any file system.
func (s *State) FreePath(uri, host string) (string, error) {
	name := localname.Of(uri, host)
	free, err := s.free(name)
	if free || err != nil {
		return name, err
	}
	name = localname.Derived(uri)
	if free, err = s.free(name); !free && err == nil {
		err = errors.New("no free path for the copy")
	}
	return name, err
}

// FreePaths returns the free ones of the paths that the copy of a resource can have.
func (s *State) FreePaths(uri, host string) (names []string, err error) {
	for _, name := range []string{localname.Of(uri, host), localname.Derived(uri)} {
		free, err := s.free(name)
		if err != nil {
			return nil, err
		}
		if free && (len(names) == 0 || names[0] != name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Reserve reserves a path until Release.
func (s *State) Reserve(name string) {
	r := &s.reserved
	if r.paths == nil {
		r.paths, r.folders = make(map[string]bool), make(map[string]bool)
	}
	fold := localname.Fold(name)
	r.paths[fold] = true
	for i := strings.LastIndexByte(fold, '/'); i > 0 && !r.folders[fold[:i]]; i = strings.LastIndexByte(fold[:i], '/') {
		r.folders[fold[:i]] = true
	}
}

// Release ends all reservations.
func (s *State) Release() {
	clear(s.reserved.paths)
	clear(s.reserved.folders)
}

func (r *reservations) free(fold string) bool {
	if len(r.paths) == 0 {
		return true
	}
	for i := len(fold); i > 0; i = strings.LastIndexByte(fold[:i], '/') {
		if r.paths[fold[:i]] {
			return false
		}
	}
	return !r.folders[fold]
}

func (s *State) free(name string) (bool, error) {
	fold := localname.Fold(name)
	if !s.reserved.free(fold) {
		return false, nil
	}
	n, err := s.int("SELECT EXISTS (SELECT 1 FROM resource WHERE fold = ?1) OR EXISTS (SELECT 1 FROM resource WHERE fold > ?1 || '/' AND fold < ?1 || '0')", fold)
	if n > 0 || err != nil {
		return false, err
	}
	folder := fold[:max(strings.LastIndexByte(fold, '/'), 0)]
	if folder == "" || within(s.folder, folder) {
		return true, nil // as for the last name, most often
	}
	for i := 0; i <= len(folder); i++ {
		if i < len(folder) && folder[i] != '/' {
			continue
		}
		if n, err = s.int("SELECT EXISTS (SELECT 1 FROM resource WHERE fold = ?)", folder[:i]); n > 0 || err != nil {
			return false, err
		}
	}
	s.folder = folder
	return true, nil
}

// within reports whether a folder is a path or inside of it.
func within(folder, path string) bool {
	return strings.HasPrefix(folder, path) && (len(folder) == len(path) || folder[len(path)] == '/')
}
