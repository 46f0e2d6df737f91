package objectstore

import (
	"context"
	"io/fs"
	"path"

	"github.com/resourcesync-go/resourcesync/static"
)

// A folder is what a Store has learnt about the objects in a folder since it took the lease.
type folder struct {
	asked  int                     // requests for single objects
	listed map[string]static.Stamp // by name; nil if the folder has not been listed
}

// askFirst is the number of objects that are requested one by one before their folder is listed. A
// folder with fewer documents may have any number of other objects.
const askFirst = 16

// Stat implements [static.Store]. After requests for some objects of a folder, it lists the
// folder instead of requesting each object.
func (s *Store) Stat(ctx context.Context, name string) (static.Stamp, error) {
	now, found, listed, err := s.lookUp(ctx, name)
	switch {
	case err != nil:
		return now, err
	case !listed:
		o, err := s.client.Head(ctx, s.key(name))
		return stampOf(o), wrap(name, err)
	case !found:
		return now, wrap(name, fs.ErrNotExist)
	}
	return now, nil
}

// lookUp looks an object up in the listing of its folder. listed is false if there is no listing,
// and the object must be requested. Objects that are stored during a listing are noted after it.
func (s *Store) lookUp(ctx context.Context, name string) (now static.Stamp, found, listed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, base := path.Split(name)
	f := s.folder(dir)
	if f.listed == nil && f.asked < askFirst {
		f.asked++
		return now, false, false, nil
	}
	if f.listed == nil {
		if err := s.list(ctx, dir, f); err != nil {
			return now, false, false, err
		}
	}
	now, found = f.listed[base]
	return now, found, true, nil
}

// folder returns what is known about a folder. The caller holds the lock.
func (s *Store) folder(dir string) *folder {
	f := s.folders[dir]
	if f == nil {
		f = new(folder)
		s.folders[dir] = f
	}
	return f
}

func (s *Store) list(ctx context.Context, dir string, f *folder) error {
	listed := make(map[string]static.Stamp)
	for o, err := range s.client.List(ctx, s.key(dir)) {
		if err != nil {
			return wrap(dir, err)
		}
		listed[path.Base(o.Key)] = stampOf(o)
	}
	f.listed = listed
	return nil
}

// note adds an object to the listing of its folder, if that has been listed.
func (s *Store) note(name string, now static.Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, base := path.Split(name)
	if f := s.folder(dir); f.listed != nil {
		f.listed[base] = now
	}
}

// forget removes an object from the listing of its folder.
func (s *Store) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, base := path.Split(name)
	delete(s.folder(dir).listed, base)
}
