package dir

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"os"
)

// Handler serves the files themselves: at the URI of each resource a GET or HEAD
// gets its bytes with its media type, and nothing else is served. There are no
// redirects, no folder listings and no index pages: index.html is at its own
// URI. Range and conditional requests are answered by [http.ServeContent].
//
// The whole path of a request is compared with that of the base URL, so the
// handler is mounted without http.StripPrefix.
func (d *Dir) Handler() http.Handler { return http.HandlerFunc(d.serve) }

func (d *Dir) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	key, ok := d.key(r.URL)
	if !ok {
		http.NotFound(w, r)
		return
	}
	f, info, err := d.open(key)
	if isNotListed(err) {
		http.NotFound(w, r)
		return
	}
	if err != nil {
		d.serverError(w, r, key, err)
		return
	}
	defer f.Close()
	mediaType, err := typeOf(f, info)
	if err != nil {
		d.serverError(w, r, key, err)
		return
	}
	h.Set("Content-Type", mediaType)
	h.Set("Etag", etag(info))
	http.ServeContent(w, r, "", info.ModTime(), f)
}

func (d *Dir) serverError(w http.ResponseWriter, r *http.Request, key string, err error) {
	d.log.ErrorContext(r.Context(), "dir: not served", "key", key, "err", err)
	http.Error(w, "internal server error", http.StatusInternalServerError)
}

// typeOf returns the media type that a scan gives to f.
func typeOf(f *os.File, info fs.FileInfo) (string, error) {
	if t := typeByName(info.Name()); t != "" {
		return t, nil
	}
	head := make([]byte, sniffLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	return typeByContent(head[:n]), nil
}

// etag returns the entity tag of the version of a file that info describes. It
// is a digest of its stamp, because inode numbers are nobody's business.
func etag(info fs.FileInfo) string {
	sum := sha256.Sum256(appendStamp(nil, info))
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
