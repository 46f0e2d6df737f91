package simulation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// use runs an event in which the user changes files of the copy.
func (w *World) use(e Event) {
	if len(e.Args) == 0 {
		w.broken(fmt.Errorf("%v: the name is missing", e))
		return
	}
	name := filepath.Join(w.folder(), filepath.FromSlash(e.Args[0]))
	if _, err := os.Stat(filepath.Join(w.folder(), ".resourcesync")); err != nil {
		return // there is no copy yet
	}
	if e.Verb == "edit" && w.unsettled {
		return // the state may not list the file as a copy
	}
	var err error
	switch e.Verb {
	case "file":
		if _, found := os.Lstat(name); !errors.Is(found, fs.ErrNotExist) || w.damaged[e.Args[0]] {
			return // otherwise it would be an edited copy
		}
		text := "file of the user " + e.Args[0]
		if err = os.MkdirAll(filepath.Dir(name), 0o777); err == nil {
			err = os.WriteFile(name, []byte(text), 0o666)
		}
		if err != nil {
			return // a copy is in the way
		}
		w.user[e.Args[0]] = text
	case "edit":
		if _, err = os.Stat(name); err == nil && w.user[e.Args[0]] == "" {
			err = os.WriteFile(name, []byte("edited"), 0o666)
		}
	case "lose":
		if w.user[e.Args[0]] == "" {
			err = os.Remove(name)
		}
	}
	if e.Verb != "file" && err == nil {
		w.damaged[e.Args[0]] = true
		w.claimed[e.Args[0]] = e.Verb == "edit" && w.diskHasFailed()
	}
	w.event("%s: %v", e, err)
}
