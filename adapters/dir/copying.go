package dir

import "github.com/resourcesync-go/resourcesync"

// A copying is a copy that is being made during a scan, or none, if nothing is to be
// kept or once something has gone wrong with it.
type copying struct {
	copy Copy // nil if there is none, or no longer
	err  error
}

// beginCopy begins the copy of a file. Without hashes a file is not read to its
// end, and nothing could be found again.
func (s *scan) beginCopy() *copying {
	c := &copying{}
	if s.Dir.keep != nil && len(s.algorithms) > 0 {
		c.copy, c.err = s.Dir.keep()
	}
	return c
}

func (c *copying) write(p []byte) {
	if c.copy == nil {
		return
	}
	if _, err := c.copy.Write(p); err != nil {
		c.discard()
		c.err = err
	}
}

// keep keeps the copy, if there is to be one, or says why it could not be made.
func (c *copying) keep(hashes []resourcesync.Hash) error {
	if c.copy != nil {
		c.err = c.copy.Keep(hashes)
		c.copy = nil
	}
	return c.err
}

func (c *copying) discard() {
	if c.copy != nil {
		c.copy.Discard()
		c.copy = nil
	}
}
