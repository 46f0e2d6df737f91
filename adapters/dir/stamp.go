package dir

import (
	"encoding/binary"
	"encoding/hex"
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

// A status is the metadata that the operating system has for a file.
type status struct {
	mode     fs.FileMode // the type only
	size     int64
	modified time.Time
	changed  time.Time // modified, where the operating system has no change time
	inode    uint64    // 0 where the operating system has none
}

// appendStamp appends the stamp of the version of a file: its size and modification time
// and, where the operating system provides them, its inode and change time. The last two
// reveal a file that was replaced or rewritten with the same size and modification time.
func (s *status) appendStamp(b []byte) []byte {
	b = strconv.AppendInt(b, s.size, 36)
	b = append(b, '.')
	b = strconv.AppendInt(b, s.modified.UnixNano(), 36)
	b = append(b, '.')
	b = strconv.AppendInt(b, s.changed.UnixNano(), 36)
	b = append(b, '.')
	return strconv.AppendUint(b, s.inode, 36)
}

func (s *status) stamp() string {
	var b [maxStamp]byte
	return string(s.appendStamp(b[:0]))
}

// isVersion reports whether s and t have the same stamp.
func (s *status) isVersion(t *status) bool {
	return s.size == t.size && s.inode == t.inode && s.modified.Equal(t.modified) && s.changed.Equal(t.changed)
}

// withSum returns stamp with the CRC-32 of its version.
func withSum(stamp string, crc uint32) string {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc)
	var b [maxStamp + len(sumMark) + 2*len(sum)]byte
	return string(hex.AppendEncode(append(append(b[:0], stamp...), sumMark...), sum[:]))
}

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
// the file with the status st.
func (d *Dir) isSettled(st *status, now time.Time) bool {
	return now.Sub(st.changed).Abs() >= d.unsettled
}
