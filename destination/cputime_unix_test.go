//go:build unix

package destination_test

import (
	"syscall"
	"time"
)

func init() {
	cpuTime = func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			return 0
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
}
