package objectstore_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// errNone means that nobody finds the documents yet.
var errNone = errors.New("the Source Description does not exist")

// crawl follows all links from the Source Description of a site over HTTP, as any reader of the bucket does. It
// returns the paths of the documents and packages, and the number of listed resources. It returns an
// error if a document is not valid, or a link leads nowhere. The error is errNone if there is no
// Source Description.
func crawl(public, site string) (paths map[string]bool, listed int, err error) {
	paths = make(map[string]bool)
	queue := []string{site + "/.well-known/resourcesync"}
	for len(queue) > 0 {
		uri := queue[0]
		queue = queue[1:]
		name, own := strings.CutPrefix(uri, site+"/")
		if !own || strings.HasPrefix(name, "papers/") || paths[name] {
			continue
		}
		paths[name] = true
		res, err := get(public + name)
		if err != nil {
			if len(paths) == 1 && errors.Is(err, fs.ErrNotExist) {
				err = errNone
			}
			return paths, listed, err
		}
		leads, n, err := read(res)
		if err != nil {
			return paths, listed, fmt.Errorf("%s: %w", name, err)
		}
		queue = append(queue, leads...)
		listed += n
	}
	return paths, listed, nil
}

// read returns the links of a document, and the number of resources in a Resource List.
func read(res *http.Response) (leads []string, listed int, err error) {
	defer res.Body.Close()
	body := io.Reader(res.Body)
	if res.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			return nil, 0, err
		}
	}
	if strings.HasSuffix(res.Request.URL.Path, ".zip") {
		_, err := io.Copy(io.Discard, body)
		return nil, 0, err
	}
	head, entries, err := rsxml.Decode(body)
	if err != nil {
		return nil, 0, err
	}
	for _, l := range head.Links {
		leads = append(leads, l.Href)
	}
	for _, e := range entries {
		leads = append(leads, e.Loc)
		for _, l := range e.Links {
			leads = append(leads, l.Href)
		}
		if head.Metadata.Capability == resourcesync.ResourceList && !head.Index {
			listed++
		}
	}
	return leads, listed, nil
}
