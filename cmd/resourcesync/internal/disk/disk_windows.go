package disk

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// measure returns the free and total bytes of the volume of a path, as far as the user may use them.
func measure(path string) (free, total uint64, err error) {
	folder, err := windows.UTF16PtrFromString(filepath.Dir(path)) // a file is refused
	if err != nil {
		return 0, 0, err
	}
	err = windows.GetDiskFreeSpaceEx(folder, &free, &total, nil)
	return free, total, err
}
