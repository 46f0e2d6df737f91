package sitemap

import (
	"io"
	"net/http"
	"net/url"
	"strings"
)

// readSitemap adds the URLs in the sitemap at u, and calls child for each sitemap that
// it names.
func (sc *scan) readSitemap(u *url.URL, child func(*url.URL) error) error {
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
			sc.count(func(st *Status) { st.Foreign++ })
			return nil
		}
		return child(at)
	})
	end(err == nil)
	return err
}

// fetch returns the text of the sitemap at u, from the site or from a current copy. The
// caller must call end after reading, and report whether it read the complete text.
func (sc *scan) fetch(u *url.URL) (text io.Reader, end func(complete bool), err error) {
	kept := sc.copies.open(u)
	res, err := sc.client.get(sc.ctx, u, kept.header())
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
	if text, err = content(res.Body, maxSitemap); err != nil {
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
