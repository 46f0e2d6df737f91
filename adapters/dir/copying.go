package dir

import "github.com/resourcesync-go/resourcesync"

// A copying is a copy that is being made during a scan, or none: once something
// has gone wrong with it, or if nothing is to be kept.
type copying struct {
	scan *scan
	copy Copy // nil if there is none, or no longer
}

// beginCopy begins the copy of a file. Without hashes a file is not read to its
// end, and nothing could be found again.
func (s *scan) beginCopy() *copying {
	c := &copying{scan: s}
	if s.Dir.keep == nil || len(s.algorithms) == 0 {
		return c
	}
	made, err := s.Dir.keep()
	if err != nil {
		c.failed(err)
	} else {
		c.copy = made
	}
	return c
}

func (c *copying) write(p []byte) {
	if c.copy == nil {
		return
	}
	if _, err := c.copy.Write(p); err != nil {
		c.failed(err)
	}
}

func (c *copying) keep(hashes []resourcesync.Hash) {
	if c.copy == nil {
		return
	}
	err := c.copy.Keep(hashes)
	c.copy = nil
	if err != nil {
		c.failed(err)
	}
}

func (c *copying) discard() {
	if c.copy != nil {
		c.copy.Discard()
		c.copy = nil
	}
}

// failed notes, once for a scan, that versions are not kept.
func (c *copying) failed(err error) {
	c.discard()
	if c.scan.uncopied.CompareAndSwap(false, true) {
		c.scan.log.Error("dir: copies not kept, changes cannot be dumped", "err", err)
	}
}
