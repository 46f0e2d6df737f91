package scan

import "fmt"

// A FileStore is a [Store] that keeps its sets in a file of this computer.
type FileStore interface {
	// File returns the absolute path of the file, or "" if the sets are elsewhere. Files
	// beside it whose names begin with its name belong to the store.
	File() string
}

// A Container is an Origin of files of this computer. [Into] refuses a [FileStore] whose file is
// among them: each scan would write to that file, and so cause the next one.
type Container interface {
	// Contains reports whether the file at an absolute path, or one beside it, can be listed.
	Contains(path string) (bool, error)
}

// checkFile returns an error if origin contains the file of store.
func checkFile(store any, origin Origin) error {
	in, ok := origin.(Container)
	if !ok {
		return nil
	}
	kept, ok := store.(FileStore)
	if !ok || kept.File() == "" {
		return nil
	}
	inside, err := in.Contains(kept.File())
	if err != nil {
		return fmt.Errorf("scan: cannot determine whether %s is in the origin: %w", kept.File(), err)
	}
	if inside {
		return fmt.Errorf("scan: the database %q is in the folder that is published: keep it in another folder", kept.File())
	}
	return nil
}
