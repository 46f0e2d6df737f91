package testmain

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// memory is a file system in memory.
const memory = "/dev/shm"

// needed is how much room it must have, in bytes.
const needed = 2 << 30

// inMemory returns a new folder in memory that all users can use, or "" if there is none or too little room. It removes
// folders of runs that were killed, which are a day old.
func inMemory() string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(memory, &s); err != nil || s.Bavail*uint64(s.Bsize) < needed {
		return ""
	}
	const name = "resourcesync-test-"
	old, _ := filepath.Glob(filepath.Join(memory, name+"*"))
	for _, folder := range old {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(folder)
		}
	}
	folder, err := os.MkdirTemp(memory, name)
	if err == nil {
		err = os.Chmod(folder, 0o777|os.ModeSticky) // for servers that run as other users
	}
	if err != nil {
		return ""
	}
	return folder
}
