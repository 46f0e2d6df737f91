package dir

import "github.com/resourcesync-go/resourcesync"

// A copying is the copy of a file that a scan is reading. The methods of nil, for which no
// copy is made, do nothing.
type copying struct {
	copy Copy // nil after the copy has ended or failed
	err  error
}

// beginCopy begins the copy of a file. It makes none without hashes, because the file
// is then not read to its end, and copies are found by their hashes.
func (s *scanRun) beginCopy() *copying {
	if s.Dir.keep == nil || len(s.algorithms) == 0 {
		return nil
	}
	copy, err := s.Dir.keep()
	switch {
	case err != nil: // copy may be a nil pointer
		return &copying{err: err}
	case copy == nil:
		return nil
	}
	return &copying{copy: copy}
}

func (c *copying) write(p []byte) {
	if c == nil || c.copy == nil {
		return
	}
	if _, err := c.copy.Write(p); err != nil {
		c.discard()
		c.err = err
	}
}

// keep keeps the copy, if any. It returns the error that prevented the copy.
func (c *copying) keep(hashes []resourcesync.Hash) error {
	if c == nil {
		return nil
	}
	if c.copy != nil {
		c.err = c.copy.Keep(hashes)
		c.copy = nil
	}
	return c.err
}

func (c *copying) discard() {
	if c != nil && c.copy != nil {
		c.copy.Discard()
		c.copy = nil
	}
}
