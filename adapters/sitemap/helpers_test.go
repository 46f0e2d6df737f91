package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// zeros returns 100 MB of zeros, compressed, after the beginning of a sitemap.
func zeros(t testing.TB) []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, _ = io.WriteString(zw, "<urlset><!--")
	_, err := io.Copy(zw, io.LimitReader(zero{}, 100<<20))
	if err != nil {
		t.Fatal(err)
	}
	_ = zw.Close()
	return b.Bytes()
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, _ = io.WriteString(zw, text)
	_ = zw.Close()
	return b.Bytes()
}
