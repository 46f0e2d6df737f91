package check_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
)

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

func TestFiles(t *testing.T) {
	link := `<rs:ln rel="up" href="https://example.org/caps.xml"/>` + "\n"
	archive := func(kind, entry string) []byte {
		return []byte(urlset + `<rs:md capability="` + kind + `"/><url><loc>https://example.org/1.xml</loc>` + entry + `</url></urlset>`)
	}
	pack := newSite(t).zip([]member{{"manifest.xml", urlset + link + `<rs:md capability="resourcedump-manifest" at="2025-03-01T00:00:00Z"/>
<url><loc>https://example.org/a</loc><rs:md path="/a" length="2"/></url></urlset>`}, {"a", "A"}})
	many := []byte(pack)
	end := bytes.LastIndex(many, []byte("PK\x05\x06"))
	for name, tt := range map[string]struct {
		file string
		data []byte
		want []string
	}{
		"a document":   {"list.xml", []byte(urlset + link + ofList1 + `<url><loc>https://example.org/a</loc>` + lastmodA + `</url></urlset>`), nil},
		"compressed":   {"list.xml.gz", zipped(urlset + link + ofList1 + `<url/></urlset>`), []string{"loc-missing"}},
		"repeated":     {"list.xml", []byte(urlset + link + ofList1 + strings.Repeat(`<url><loc>https://example.org/a</loc>`+lastmodA+`</url>`, 2) + `</urlset>`), []string{"resource-repeated"}},
		"relative":     {"list.xml", []byte(urlset + link + ofList1 + `<url><loc>a</loc>` + lastmodA + `</url></urlset>`), []string{"uri-syntax"}},
		"list archive": {"archive.xml", archive("resourcelist-archive", ""), []string{"entry-at-missing"}},
		"without from": {"archive.xml", archive("changelist-archive", `<rs:md until="2025-01-01T00:00:00Z"/>`), []string{"entry-from-missing"}},
		"open":         {"archive.xml", archive("changelist-archive", `<rs:md from="2025-01-01T00:00:00Z"/>`), []string{"entry-until-missing"}},
		"a package":    {"dump.zip", []byte(pack), []string{"package-file-content"}},
		"half of it":   {"dump.zip", []byte(pack)[:len(pack)/2], []string{"package-unreadable"}},
		"too many files": {"dump.zip", func() []byte {
			at := uint64(len(many))
			record := make([]byte, 56)
			copy(record, "PK\x06\x06")
			binary.LittleEndian.PutUint64(record[32:], 2_000_000)
			locator := make([]byte, 20)
			copy(locator, "PK\x06\x07")
			binary.LittleEndian.PutUint64(locator[8:], at)
			tail := bytes.Clone(many[end:])
			binary.LittleEndian.PutUint16(tail[10:], 0xffff)
			return slices.Concat(many, record, locator, tail)
		}(), []string{"package-size"}},
		"a text":  {"readme.txt", []byte("Hello"), []string{"xml"}},
		"nothing": {"empty.xml", nil, []string{"xml"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := check.Check(t.Context(), write(t, tt.file, tt.data), nil)
			if err != nil {
				t.Fatal(err)
			}
			if found := rulesOf(r.Counts); !slices.Equal(found, tt.want) {
				t.Errorf("found %q, want %q:\n%s", found, tt.want, describe(r))
			}
		})
	}
}

// TestCannotRun has the targets that cannot be checked.
func TestCannotRun(t *testing.T) {
	empty := newSite(t)
	page := newSite(t)
	page.add("/", "<!DOCTYPE html><p>Hello").kind = "text/html"
	failing := newSite(t)
	failing.add(wellKnown, "").status = http.StatusInternalServerError
	forbidden := newSite(t)
	forbidden.add("/robots.txt", "User-agent: *\nDisallow: /").kind = "text/plain"
	gone := newSite(t)
	gone.Close()
	for target, want := range map[string]string{
		empty.URL: "does not lead to a ResourceSync document", page.URL + "/": "does not lead to a ResourceSync document",
		failing.URL: "500", forbidden.URL: "robots.txt disallows", gone.URL: "refused",
		"no-such-file.xml": "neither a file nor a URL", t.TempDir(): "folder", "ftp://example.org/": "neither a file nor a URL",
	} {
		r, err := check.Check(t.Context(), target, options())
		if err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("%s: %v, want an error with %q", target, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := check.Check(ctx, correct(t).URL, nil); !errors.Is(err, context.Canceled) || r == nil {
		t.Errorf("cancelled: %v, %v", r, err)
	}
}

// TestStart checks a Source from other URLs than that of its site.
func TestStart(t *testing.T) {
	s := correct(t)
	s.add("/page", `<html><head><link rel="resourcesync" href="/caps.xml"></head></html>`).kind = "text/html"
	s.files["/page2"] = &file{body: "text", kind: "text/plain", header: http.Header{"Link": {`<{base}/caps.xml>; rel="resourcesync"`}}}
	for path, documents := range map[string]int64{wellKnown: 14, caps: 13, "/page": 13, "/page2": 13, list: 3, changes1: 1, dump: 3, chDump: 2, "/a": 14} {
		r, err := check.Check(t.Context(), s.URL+path, options())
		var want []string
		if strings.HasPrefix(path, "/page") {
			want = []string{"link-uncovered"} // it is in no list
		}
		if err != nil || !slices.Equal(rulesOf(r.Counts), want) || r.Documents != documents {
			t.Errorf("%s: %v, %d documents, want %d\n%s", path, err, r.Documents, documents, describe(r))
		}
	}
}

// TestSample requests as many resources as it should.
func TestSample(t *testing.T) {
	for _, tt := range []struct {
		sample int
		all    bool
		want   [2]int64 // by themselves, and in packages
	}{{0, false, [2]int64{3, 3}}, {1, false, [2]int64{1, 2}}, {-1, false, [2]int64{0, 0}}, {1, true, [2]int64{3, 3}}} {
		o := options()
		o.Sample, o.All = tt.sample, tt.all
		r, _ := correct(t).judge(t, o)
		if [2]int64{r.Resources, r.Packed} != tt.want || !r.OK() {
			t.Errorf("%+v: %d resources, %d in packages\n%s", tt, r.Resources, r.Packed, describe(r))
		}
	}
}

// TestManyFindings keeps the report small.
func TestManyFindings(t *testing.T) {
	s := correct(t)
	s.edit(t, list2, "</urlset>", strings.Repeat("<url/>\n", 500)+"</urlset>")
	r, counts := s.judge(t, nil)
	if counts["loc-missing"] != 500 || r.Harms[check.Error] != 500 || r.Forces[check.Must] != 500 || len(r.Findings) != 20 {
		t.Errorf("%v, %d findings", counts, len(r.Findings))
	}
}

// TestLimitContent does not read what is too large.
func TestLimitContent(t *testing.T) {
	s := correct(t)
	s.edit(t, list2, `hash="sha-256:{sha256 /c}" length="{length /c}" `, "")
	s.files["/c"].body = strings.Repeat("c", 2000)
	o := options()
	o.MaxContent = 1999
	r, _ := s.judge(t, o)
	if !r.OK() || len(r.Unchecked) != 1 || !strings.Contains(r.Unchecked[0], "/c ") {
		t.Errorf("findings:\n%s", describe(r))
	}
}

// TestChangesMeanwhile does not blame a Source for what happens during the check.
func TestChangesMeanwhile(t *testing.T) {
	later := func(path, old, new string) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			f := *s.files[path]
			s.files[path].serve = func(w http.ResponseWriter, r *http.Request, n int) {
				body := f.body
				if n > 1 {
					body = strings.ReplaceAll(body, old, new)
				}
				w.Header().Set("Content-Type", "application/xml")
				w.Header().Set("ETag", strconv.Itoa(n))
				w.Write([]byte(s.fill(body)))
			}
		}
	}
	const entryC = `<url><loc>{base}/c</loc><lastmod>2025-02-03T00:00:00Z</lastmod>
<rs:md hash="sha-256:{sha256 /c}" length="{length /c}" type="text/plain"/><rs:ln rel="describedby" href="{base}/c.meta" pri="1"/></url>
`
	for name, change := range map[string]func(*testing.T, *site){
		"a resource is deleted": func(t *testing.T, s *site) {
			later(list2, entryC, "")(t, s)
			s.files["/c"].status = http.StatusNotFound
		},
		"a resource is updated": func(t *testing.T, s *site) {
			s.edit(t, list2, `"{length /c}"`, `"9"`)
			later(list2, `"9"`, `"{length /c}"`)(t, s)
		},
		"a resource is newer than its entry": func(t *testing.T, s *site) {
			s.edit(t, list2, `"{length /c}"`, `"9"`)
			s.files["/c"].header = http.Header{"Last-Modified": {time.Now().UTC().Format(http.TimeFormat)}}
		},
		"a list is divided again": func(t *testing.T, s *site) {
			s.files["/list-3.xml"] = s.files[list2]
			delete(s.files, list2)
			later(list, "/list-2.xml", "/list-3.xml")(t, s)
		},
		"a package is built again": func(t *testing.T, s *site) {
			s.edit(t, dump, "{sha256 /dump-1.zip}", "{sha256 /a}")
			later(dump, "{sha256 /a}", "{sha256 /dump-1.zip}")(t, s)
		},
		"a package is replaced": func(t *testing.T, s *site) {
			s.packs["/changedump-2.zip"] = s.packs[chDumpZIP]
			delete(s.packs, chDumpZIP)
			later(chDump, "/changedump-1.zip", "/changedump-2.zip")(t, s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := correct(t)
			change(t, s)
			r, _ := s.judge(t, nil)
			if !r.OK() {
				t.Errorf("findings:\n%s", describe(r))
			}
		})
	}
}
