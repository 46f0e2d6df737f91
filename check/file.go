package check

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// file checks a file: a document, which may be compressed by gzip, or a package.
func (c *checker) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = errors.New("it is neither a file nor a URL that begins with http:// or https://")
		}
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New("it is a folder; give a document or a package, or the URL of a Source")
	}
	br := bufio.NewReader(f)
	begin, _ := br.Peek(4)
	if len(begin) > 1 && begin[0] == 'P' && begin[1] == 'K' {
		return c.zip(context.Background(), name, f, info.Size(), "", "", nil)
	}
	var r io.Reader = br
	if len(begin) > 1 && begin[0] == 0x1f && begin[1] == 0x8b {
		if r, err = gzip.NewReader(br); err != nil {
			return err
		}
	}
	st := newSet(c)
	st.options.All, st.sample.max, st.versions.max = false, 0, 0
	d, err := c.read(name, nil, r, expectation{}, time.Now(), func(d *document, e *rsxml.Entry, at place) {
		c.entries.Add(1)
		st.entry(d, e, at)
	})
	c.documents.Add(1)
	c.bytes.Add(d.bytes)
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if len(d.next) > 0 {
		c.skip("the document has a link with the relation next: most harvesters find the next document only if an index lists it")
	}
	return st.finish(context.Background())
}
