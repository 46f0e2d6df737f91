package dir

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// unsettled is how long after its last change a file may change once more
// within the granularity of its timestamps: 2 s on FAT, one tick of the kernel
// on others.
const unsettled = 2 * time.Second

// unsettledMark is the prefix of the stamp of a file that had just changed when it was
// read. No current file has such a stamp, so the next scan reads the file again.
const unsettledMark = "~"

// sumMark precedes the CRC-32 of the version, in hexadecimal, in the stamp of a file
// that was read to its end.
const sumMark = "+"

// maxStamp is the maximum length of a stamp: four numbers of 64 bits.
const maxStamp = 4*len("-1y2p0ij32e8e8") + len("...")

// appendStamp appends the stamp of the version of a file that info describes: its size
// and modification time and, where the operating system provides them, its inode and
// change time. The last two reveal a file that was replaced or rewritten with the same
// size and modification time.
func appendStamp(b []byte, info fs.FileInfo) []byte {
	changed, inode := status(info)
	b = strconv.AppendInt(b, info.Size(), 36)
	b = append(b, '.')
	b = strconv.AppendInt(b, info.ModTime().UnixNano(), 36)
	b = append(b, '.')
	b = strconv.AppendInt(b, changed.UnixNano(), 36)
	b = append(b, '.')
	return strconv.AppendUint(b, inode, 36)
}

func stampOf(info fs.FileInfo) string {
	var b [maxStamp]byte
	return string(appendStamp(b[:0], info))
}

// isSameVersion reports whether a and b have the same stamp.
func isSameVersion(a, b fs.FileInfo) bool {
	var x, y [maxStamp]byte
	return bytes.Equal(appendStamp(x[:0], a), appendStamp(y[:0], b))
}

// withSum returns stamp with the CRC-32 of its version.
func withSum(stamp string, crc uint32) string { return fmt.Sprintf("%s%s%08x", stamp, sumMark, crc) }

// cutSum is the inverse of withSum. It reports whether there was a CRC-32.
func cutSum(stamp string) (_ string, crc uint32, found bool) {
	stamp, digits, found := strings.Cut(stamp, sumMark)
	if !found {
		return stamp, 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	return stamp, uint32(n), err == nil
}

// isSettled reports whether a change at now or later is certain to change the stamp of
// the file that info describes.
func (d *Dir) isSettled(info fs.FileInfo, now time.Time) bool {
	changed, _ := status(info)
	return now.Sub(changed).Abs() >= d.unsettled
}
