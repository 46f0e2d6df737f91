package check_test

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// nearContent has the near misses of the rules of responses, resources, packages and push.
var nearContent = map[string]func(*testing.T, *site){
	// Responses and resources.
	"identity": serve(wellKnown, func(w http.ResponseWriter, r *http.Request, text string) {
		w.Header().Set("Content-Type", "application/xml")
		w.Header().Set("Last-Modified", "Sat, 01 Mar 2025 00:00:00 GMT")
		if r.Header.Get("If-Modified-Since") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.Header.Get("Accept-Encoding") == "identity" {
			w.Header().Set("Content-Encoding", "identity")
			io.WriteString(w, text)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, text)
		z.Close()
	}),
	"content-type":            with(list2, func(f *file) { f.kind = "TEXT/XML; charset=utf-8" }),
	"content-type-unreadable": with(list2, func(f *file) { f.kind = "Application/XML" }),
	"no-gzip":                 with(list2, func(f *file) { f.noGzip = true }),
	"no-validators":           serve(list2, dated),
	"no-304":                  changing(changes2, "</urlset>", `<url><loc>{base}/d</loc><rs:md change="deleted" datetime="2025-02-05T00:00:00Z"/></url></urlset>`),
	"redirected":              redirect(wellKnown, "/description.xml"),
	"resource-unreachable":    redirect("/c", "/c-1"),
	"resource-type":           with("/c", func(f *file) { f.kind = "text/plain; charset=utf-8" }),
	"resource-length":         edit(list2, `length="{length /c}" `, ""),
	"resource-hash":           edit(list2, "{sha256 /c}", "{sha256 /c} crc32:00000000"),

	// Packages.
	"package-unreachable": func(_ *testing.T, s *site) {
		s.packs["/moved.zip"] = s.packs[chDumpZIP]
		delete(s.packs, chDumpZIP)
		s.files[chDumpZIP] = redirection("/moved.zip")
	},
	"package-changed":       edit(dump, "sha-256:{sha256 /dump-1.zip}", "crc32:00000000 sha-256:{sha256 /dump-1.zip}"),
	"package-unreadable":    pack(func(text string) string { return "#!/bin/sh\n" + text }),
	"package-name":          both(edit(chDumpZIP, `path="/1/a"`, `path="/..1/a."`), renameMember(chDumpZIP, "1/a", "..1/a.")),
	"package-size":          pack(func(text string) string { return zip64(text, 2) }),
	"package-file-missing":  both(edit(chDumpZIP, `path="/1/a"`, `path="/1/ä %20.txt"`), renameMember(chDumpZIP, "1/a", "1/ä %20.txt")),
	"package-file-content":  edit(chDumpZIP, `sha-256:{sha256 /a}`, "md5:97A9D330E236C8D067F01DA1894A5438 sha-256:{sha256 /a}"),
	"package-file-unlisted": addMember(chDumpZIP, 2, member{"empty/", ""}),
	"path-slash":            both(edit(chDumpZIP, `path="/1/a"`, `path="/1"`), renameMember(chDumpZIP, "1/a", "1")),
	"manifest-missing": both(removeMember(chDumpZIP, "1/a"),
		edit(chDumpZIP, `change="created" datetime="2025-02-01T00:00:00Z" path="/1/a" hash="sha-256:{sha256 /a}" length="{length /a}"`, `change="deleted" datetime="2025-02-01T00:00:00Z"`)),
	"manifest-position":   addMember(chDumpZIP, 0, member{"1/", ""}),
	"manifest-capability": both(edit(dumpZIP, ` at=`, ` completed="2025-02-01T00:00:00Z" at=`), edit("/dump-1.xml", ` at=`, ` completed="2025-02-01T00:00:00Z" at=`)),
	"contents-differ":     edit("/dump-1.xml", "<rs:md path=", "<!-- a copy -->\n  <rs:md path="),
	"entry-path-missing":  edit(chDumpZIP, "</urlset>", `<url><loc>{base}/e</loc><rs:md change="deleted" datetime="2025-02-02T00:00:00Z"/></url></urlset>`),

	// Topics and hubs.
	"hub-missing": edit(caps, `<loc>{base}/topic</loc><rs:md capability="change-notification"/><rs:ln rel="hub" href="{base}/hub"/>`, `<loc>{socket}/socket</loc><rs:md capability="change-notification"/>`),
	"topic-hub":   with(topic, func(f *file) { f.header = http.Header{"Link": {`</topic>; rel="self", </hub>; rel="hub"`}} }),
	"topic-self":  with(topic, func(f *file) { f.header = http.Header{"Link": {`<{base}/hub>; rel=hub`, `<{base}/topic>; rel=self`}} }),
	"topic-type":  with(topic, func(f *file) { f.kind = "application/xml; charset=utf-8" }),
	"topic-unreachable": func(_ *testing.T, s *site) {
		s.files[topic].body = ""
		s.files[topic].noETag = true
	},
	"until-missing":              edit(topic, ` until="2025-02-04T00:00:00Z"`, ` until="2025-02-04T01:00:00+01:00"`),
	"notification-overlap":       nextNotification(`from="2025-02-04T00:00:00Z" until="2025-02-05T00:00:00Z"`),
	"notification-change":        notify("resourcedump", "created"),
	"notification-index-missing": notifyDocuments(createdPart1, `<loc>{base}/list-2.xml</loc><rs:md change="updated" datetime="2025-02-28T00:00:00Z" capability="resourcelist"/>`),
	"notification-parts": notifyDocuments(createdPart1, strings.ReplaceAll(strings.ReplaceAll(createdPart1, "list-1", "list-2"), "created", "updated"),
		`<loc>{base}/changes.xml</loc><rs:md change="updated" datetime="2025-03-01T00:00:00Z" capability="changelist"/>`),
	"topic-shared": func(t *testing.T, s *site) { // a slash makes another topic
		s.edit(t, caps, "{base}/framework<", "{base}/topic/<")
		s.files["/topic/"] = s.files[framework]
		s.files["/topic/"].header = http.Header{"Link": {`<{base}/topic/>; rel="self"`, `<{base}/hub>; rel="hub"`}}
	},
	"hub-unreachable":  answers(hub, http.StatusForbidden),
	"hub-careless":     answers(hub, http.StatusUnprocessableEntity),
	"hub-subscription": subscribed(nil),
	"hub-verification": subscribed(func(_ string, q url.Values) bool {
		q.Set("hub.lease_seconds", "1")
		q.Set("hub.extra", "1")
		return true
	}),
	"websocket-unreachable": with("/socket", func(f *file) {
		f.serve = func(w http.ResponseWriter, r *http.Request, _ int) {
			if conn, err := websocket.Accept(w, r, nil); err == nil {
				conn.CloseNow()
			}
		}
	}),
}

// serve lets a function answer requests for a document.
func serve(path string, answer func(w http.ResponseWriter, r *http.Request, text string)) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		s.files[path].serve = func(w http.ResponseWriter, r *http.Request, _ int) { answer(w, r, s.text(path)) }
	}
}

// dated answers with a Last-Modified, which is now, and without an ETag.
func dated(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", "application/xml")
	http.ServeContent(w, r, "", time.Now(), strings.NewReader(text))
}

// answers lets a URL answer with a status and nothing else.
func answers(path string, status int) func(*testing.T, *site) {
	return with(path, func(f *file) {
		f.serve = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(status) }
	})
}

// redirect moves a file.
func redirect(path, to string) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		s.files[to] = s.files[path]
		s.files[path] = redirection(to)
		s.files[path].body = s.files[to].body // whose length and hash lists have
	}
}

func redirection(to string) *file {
	return &file{serve: func(w http.ResponseWriter, r *http.Request, _ int) { http.Redirect(w, r, to, http.StatusFound) }}
}

// addMember inserts a file into the package of changes.
func addMember(pack string, at int, m member) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		all := s.packs[pack]
		s.packs[pack] = append(append(append([]member{}, all[:at]...), m), all[at:]...)
	}
}

// pack changes the bytes of the package of changes.
func pack(change func(text string) string) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		text := change(s.zip(s.packs[chDumpZIP]))
		delete(s.packs, chDumpZIP)
		f := s.add(chDumpZIP, text)
		f.kind, f.noGzip = "application/zip", true
	}
}

// zip64 adds a directory of ZIP64 to a package, which says that it has count files.
func zip64(text string, count uint64) string {
	end := strings.LastIndex(text, "PK\x05\x06")
	tail := []byte(text[end:])
	record := make([]byte, 56)
	copy(record, "PK\x06\x06")
	binary.LittleEndian.PutUint64(record[4:], 44)
	binary.LittleEndian.PutUint64(record[24:], count)
	binary.LittleEndian.PutUint64(record[32:], count)
	binary.LittleEndian.PutUint64(record[40:], uint64(binary.LittleEndian.Uint32(tail[12:])))
	binary.LittleEndian.PutUint64(record[48:], uint64(binary.LittleEndian.Uint32(tail[16:])))
	locator := make([]byte, 20)
	copy(locator, "PK\x06\x07")
	binary.LittleEndian.PutUint64(locator[8:], uint64(end))
	locator[16] = 1
	binary.LittleEndian.PutUint16(tail[10:], 0xffff)
	return text[:end] + string(record) + string(locator) + string(tail)
}

// subscribed lets the check subscribe to the hub, whose verifications edit changes.
func subscribed(edit func(mode string, q url.Values) bool) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		s.files[hub].serve = (&scriptedHub{t: t, edit: edit}).serve
		s.callback = newCallback(t)
		s.callback.Wait = 2 * time.Second
	}
}

// archive adds an archive with one entry to the Capability List.
func archive(capability, path, times string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		s.edit(t, caps, "</urlset>", `<url><loc>{base}/archive.xml</loc><rs:md capability="`+capability+`"/></url></urlset>`)
		s.add("/archive.xml", urlset+up+`<rs:md capability="`+capability+`"/>`+"\n"+`<url><loc>{base}`+path+`</loc><rs:md `+times+`/></url></urlset>`)
	}
}

// sized serves the second Resource List with so many bytes.
func sized(bytes int) func(*testing.T, *site) {
	const most = 15_000 // the decoder reads such an entry ahead, and is fast
	return filled(func(length, _ int) int {
		if rest := bytes - length; rest < 2*most {
			return rest
		}
		return most
	})
}

// many adds n small entries to the second Resource List.
func many(n int) func(*testing.T, *site) {
	return filled(func(_, i int) int {
		if i == n {
			return 0
		}
		return 100
	})
}

// filled serves the second Resource List with more entries. size returns the number of bytes of the entry i,
// or 0 after the last one, if the document has length bytes without it.
func filled(size func(length, i int) int) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		text := s.text(list2)
		s.files[list2].serve = func(w http.ResponseWriter, r *http.Request, _ int) {
			w.Header().Set("Content-Type", "application/xml")
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			defer z.Close()
			head, tail, _ := strings.Cut(text, "</urlset>")
			io.WriteString(z, head)
			length := len(text)
			for i := 0; ; i++ {
				n := size(length, i)
				if n == 0 {
					break
				}
				entry := fmt.Sprintf("<url><loc>urn:%d</loc>%s</url>\n", i, lastmodA)
				io.WriteString(z, strings.Repeat(" ", n-len(entry))+entry)
				length += n
			}
			io.WriteString(z, "</urlset>"+tail)
		}
	}
}
