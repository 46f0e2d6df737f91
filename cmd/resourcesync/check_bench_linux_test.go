package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A listed Source has lists of up to 50,000 resources in compressed files. The content of a
// resource is its number.
type listed struct {
	b        *testing.B
	folder   string
	base     string
	at       string        // of the lists
	resource chan struct{} // receives a value at a request for a resource
	answers  atomic.Bool   // to requests for resources
}

// document writes a document.
func (l *listed) document(name, root, links, metadata string, entries func(w io.Writer)) {
	f, err := os.Create(filepath.Join(l.folder, strings.ReplaceAll(name, "/", "_")))
	must(l.b, err)
	z := gzip.NewWriter(f)
	fmt.Fprintf(z, `<?xml version="1.0" encoding="UTF-8"?>
<%s xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
%s<rs:md %s/>
`, root, links, metadata)
	entries(z)
	fmt.Fprintf(z, "</%s>\n", root)
	must(l.b, z.Close())
	must(l.b, f.Close())
}

// publish writes all documents. at is the time of the lists.
func (l *listed) publish(resources int, at string) {
	const most = 50_000
	l.at = at
	link := func(rel, href string) string {
		return fmt.Sprintf(`<rs:ln rel="%s" href="%s%s"/>`, rel, l.base, href) + "\n"
	}
	up, list := link("up", "/caps.xml"), `capability="resourcelist" at="`+at+`"`
	l.document("/.well-known/resourcesync", "urlset", "", `capability="description"`, func(w io.Writer) {
		fmt.Fprintf(w, `<url><loc>%s/caps.xml</loc><rs:md capability="capabilitylist"/></url>`, l.base)
	})
	l.document("/caps.xml", "urlset", link("up", "/.well-known/resourcesync"), `capability="capabilitylist"`, func(w io.Writer) {
		fmt.Fprintf(w, `<url><loc>%s/list.xml</loc><rs:md capability="resourcelist"/></url>`, l.base)
	})
	l.document("/list.xml", "sitemapindex", up, list, func(w io.Writer) {
		for first := 0; first < resources; first += most {
			fmt.Fprintf(w, `<sitemap><loc>%s/list-%d.xml</loc><lastmod>%s</lastmod></sitemap>`, l.base, first, at)
		}
	})
	for first := 0; first < resources; first += most {
		l.document(fmt.Sprintf("/list-%d.xml", first), "urlset", up+link("index", "/list.xml"), list, func(w io.Writer) {
			for i := first; i < min(first+most, resources); i++ {
				content := strconv.Itoa(i)
				fmt.Fprintf(w, `<url><loc>%s/papers/%d/%d.txt</loc><lastmod>2025-02-01T12:%02d:%02d.%03dZ</lastmod><rs:md hash="sha-256:%x" length="%d" type="text/plain"/></url>`+"\n",
					l.base, i%100, i, i/60%60, i%60, i%1000, sha256.Sum256([]byte(content)), len(content))
			}
		})
	}
}

// ServeHTTP implements [http.Handler].
func (l *listed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/papers/") {
		if !l.answers.Load() {
			select {
			case l.resource <- struct{}{}:
			default:
			}
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, strings.TrimSuffix(path.Base(r.URL.Path), ".txt"))
		return
	}
	f, err := os.Open(filepath.Join(l.folder, strings.ReplaceAll(r.URL.Path, "/", "_")))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	tag := strconv.Quote(l.at)
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("ETag", tag)
	switch {
	case r.Header.Get("If-None-Match") == tag:
		w.WriteHeader(http.StatusNotModified)
	case r.Header.Get("Accept-Encoding") == "identity":
		if z, err := gzip.NewReader(f); err == nil {
			io.Copy(w, z)
		}
	default:
		w.Header().Set("Content-Encoding", "gzip")
		io.Copy(w, f)
	}
}

// BenchmarkCheck measures the time of check for the documents of a Source with
// RESOURCESYNC_BENCH_URLS resources (10,000), and of mirror for its lists: the first time, up to
// the first request for a resource, and when the lists are new but no resource has changed. Run
// it with -benchtime 1x and TMPDIR on a fast disk.
func BenchmarkCheck(b *testing.B) {
	resources, _ := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_BENCH_URLS"), "10000"))
	program, err := os.Executable()
	must(b, err)
	l := &listed{b: b, folder: b.TempDir(), resource: make(chan struct{}, 1)}
	s := httptest.NewServer(l)
	defer s.Close()
	l.base = s.URL
	l.publish(resources, "2025-03-01T00:00:00Z")
	took := make(map[string]time.Duration)
	run := func(b *testing.B, name string, args ...string) {
		var out bytes.Buffer
		c := exec.CommandContext(b.Context(), program, args...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "TMPDIR=" + os.TempDir(), beMain + "=1"}
		c.Stdout, c.Stderr = &out, &out
		begun := time.Now()
		must(b, c.Start())
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		read := l.resource
		if name != "first" {
			read = nil // several requests of the first may have come
		}
		select {
		case <-read:
			took[name] = time.Since(begun)
			c.Process.Kill()
			<-ended
		case err := <-ended:
			if took[name] = time.Since(begun); err != nil {
				b.Fatalf("%v: %s", err, &out)
			}
		}
		if name == "copy" {
			return
		}
		b.ReportMetric(took[name].Seconds(), "s")
		b.ReportMetric((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), "s/cpu")
		b.ReportMetric(float64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, "MiB")
		b.ReportMetric(0, "ns/op")
	}
	target := b.TempDir()
	b.Run("mirror", func(b *testing.B) { run(b, "first", "mirror", s.URL, target) })
	b.Run("mirror new lists", func(b *testing.B) {
		l.answers.Store(true)
		run(b, "copy", "mirror", s.URL, target)
		l.publish(resources, "2025-03-02T00:00:00Z")
		run(b, "new", "mirror", s.URL, target)
	})
	b.Run("check", func(b *testing.B) {
		run(b, "check", "check", s.URL, "--sample", "0")
		for name, reading := range took {
			if name != "copy" && name != "check" {
				b.ReportMetric(took["check"].Seconds()/reading.Seconds(), "ratio/"+name)
			}
		}
	})
}
