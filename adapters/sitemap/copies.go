package sitemap

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

// readSitemap adds the URLs in the sitemap at u, and calls child for each sitemap that
// it names.
func (sc *pass) readSitemap(u *url.URL, child func(*url.URL) error) error {
	text, end, err := sc.fetch(u)
	if err != nil {
		return err
	}
	sc.count(func(st *Status) { st.Sitemaps++ })
	err = readEntries(text, func(e entry) error {
		if !e.isIndex {
			return sc.add(e)
		}
		at, err := u.Parse(e.loc)
		if err != nil || !strings.EqualFold(at.Host, sc.base.Host) {
			sc.countForeign(e.loc)
			return nil
		}
		return child(at)
	})
	end(err == nil)
	return err
}

// fetch returns the text of the sitemap at u, from the site or from a current copy. The
// caller must call end after reading, and report whether it read the complete text.
func (sc *pass) fetch(u *url.URL) (text io.Reader, end func(complete bool), err error) {
	kept := sc.copies.open(u)
	var known fetch.Validators
	if kept != nil {
		known = kept.Validators
	}
	res, err := sc.client.get(sc.ctx, u, known.Header())
	if err != nil {
		kept.close()
		return nil, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotModified && kept != nil {
		sc.count(func(st *Status) { st.Unchanged++ })
		return kept, func(bool) { kept.close() }, nil
	}
	kept.close()
	if res.StatusCode != http.StatusOK {
		return nil, nil, &statusError{status: res.StatusCode}
	}
	if text, err = webclient.Text(res.Body, maxSitemap, errTooLarge); err != nil {
		return nil, nil, err
	}
	d, err := sc.copies.download(u, res.Header, text)
	if err != nil {
		return nil, nil, err
	}
	now, err := readCopy(d.file)
	if err != nil {
		d.end(false)
		return nil, nil, err
	}
	return now, d.end, nil
}

// copies keeps the sitemaps of a site in a folder with their validators, so that the
// site need not send an unchanged one again. A nil *copies keeps nothing.
type copies struct{ folder string }

// A version is the version of a sitemap in a copy. Its validators make the next request for the same
// sitemap conditional.
type version struct {
	URL string
	fetch.Validators
}

const copySuffix = ".sitemap"

func openCopies(folder string) (*copies, error) {
	if folder == "" {
		return nil, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("sitemap: the folder for copies: %w", err)
	}
	return &copies{folder}, nil
}

func (c *copies) path(u *url.URL) string {
	sum := sha256.Sum256([]byte(u.String()))
	return filepath.Join(c.folder, hex.EncodeToString(sum[:16])+copySuffix)
}

// load reads v from a file that save has written, and reports whether there is one.
func (c *copies) load(name string, v any) bool {
	if c == nil {
		return false
	}
	b, err := os.ReadFile(filepath.Join(c.folder, name))
	return err == nil && json.Unmarshal(b, v) == nil
}

// save writes v as JSON into a file of the folder.
func (c *copies) save(name string, v any) error {
	if c == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	path := filepath.Join(c.folder, name)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// A copied is an open copy of a sitemap.
type copied struct {
	version
	io.Reader
	file *os.File
}

func (c *copied) close() {
	if c != nil {
		_ = c.file.Close()
	}
}

// open opens the copy of u. It returns nil if there is no readable one.
func (c *copies) open(u *url.URL) *copied {
	if c == nil {
		return nil
	}
	f, err := os.Open(c.path(u))
	if err != nil {
		return nil
	}
	out, err := readCopy(f)
	if err != nil || out.URL != u.String() {
		f.Close()
		return nil
	}
	return out
}

// readCopy reads the version of the copy in f and leaves it at the text of the
// sitemap.
func readCopy(f *os.File) (*copied, error) {
	zr, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	br := bufio.NewReader(zr)
	line, err := br.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	out := &copied{Reader: br, file: f}
	return out, json.Unmarshal(line, &out.version)
}

// A download is the file to which a sitemap is downloaded before its URLs are read.
// Its pages are checked between two reads, which may take hours, and no server waits
// that long.
type download struct {
	keep string // the path of the copy; empty if the sitemap has no validators
	file *os.File
}

// download reads the sitemap at u into a file. h is the header of the response.
func (c *copies) download(u *url.URL, h http.Header, text io.Reader) (*download, error) {
	v := version{u.String(), fetch.ValidatorsOf(h)}
	var d download
	folder := ""
	if c != nil {
		folder = c.folder
		if v.Validators != (fetch.Validators{}) {
			d.keep = c.path(u)
		}
	}
	var err error
	if d.file, err = os.CreateTemp(folder, "new-*"); err != nil {
		return nil, fmt.Errorf("cannot be stored: %w", err)
	}
	zw, _ := gzip.NewWriterLevel(d.file, gzip.BestSpeed)
	line, err := json.Marshal(v)
	if err == nil {
		_, err = zw.Write(append(line, '\n'))
	}
	if err == nil {
		_, err = io.Copy(zw, text)
	}
	if err == nil {
		err = zw.Close()
	}
	if err == nil {
		_, err = d.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		d.end(false)
		return nil, err
	}
	return &d, nil
}

// end closes the file, and keeps it as the copy if the sitemap was read completely.
func (d *download) end(complete bool) {
	_ = d.file.Close()
	if !complete || d.keep == "" || os.Rename(d.file.Name(), d.keep) != nil {
		_ = os.Remove(d.file.Name())
	}
}

// prune removes the copies of all sitemaps that are not in use.
func (c *copies) prune(used map[string]bool) {
	if c == nil {
		return
	}
	keep := make(map[string]bool, len(used))
	for text := range used {
		if u, err := url.Parse(text); err == nil {
			keep[c.path(u)] = true
		}
	}
	files, _ := os.ReadDir(c.folder)
	for _, f := range files {
		if path := filepath.Join(c.folder, f.Name()); strings.HasSuffix(path, copySuffix) && !keep[path] {
			_ = os.Remove(path)
		}
	}
}
