package virtualzip

import (
	"context"
	"hash/crc32"
	"io"
	"sync"
)

// bufferSize is how much is read and written at once where that is not the
// caller's choice. Reading that begins no further inside an entry than this
// begins at the entry's beginning: that costs well under a millisecond, and the
// checksum can be checked.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Checksum opens content as [Entry.Open] does, reads it once, and returns what
// an Entry has to say about it. Errors are those of open, of reading, and of
// ctx.
func Checksum(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) (size int64, crc uint32, err error) {
	src, err := open(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer src.Close()
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := src.Read(buf[:])
		size += int64(n)
		crc = crc32.Update(crc, crc32.IEEETable, buf[:n])
		if err == io.EOF {
			return size, crc, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, 0, err
		}
	}
}
