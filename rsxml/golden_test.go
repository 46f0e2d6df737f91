package rsxml

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

var update = flag.Bool("update", false, "rewrite the documents in testdata as the encoder writes them")

// goldenDir has a document for each example of the specifications.
const goldenDir = "../testdata"

// encode returns a document as the encoder writes it.
func encode(h Head, entries []Entry) []byte {
	b := AppendHead(nil, &h)
	for i := range entries {
		b, _ = AppendEntry(b, &h, &entries[i])
	}
	return AppendTail(b, &h)
}

// documents returns the XML files under dir.
func documents(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".xml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// shared returns a folder of the specifications' own files, which this
// repository does not contain.
func shared(t *testing.T, name string) string {
	root := os.Getenv("RESOURCESYNC_SHARED")
	if root == "" {
		t.Skip("RESOURCESYNC_SHARED does not name a folder")
	}
	return filepath.Join(root, name)
}

// TestGolden decodes our documents and wants the same bytes again.
func TestGolden(t *testing.T) {
	files := documents(t, goldenDir)
	// 30 of the core specification, 7 of archives, 2 and 3 of notifications.
	if len(files) != 42 {
		t.Errorf("%d documents, want one for each of 42 examples", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h, entries, err := Decode(bytes.NewReader(want))
			if err != nil {
				t.Fatal(err)
			}
			got := encode(h, entries)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, want) {
				t.Errorf("encoded again:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestVariants decodes our documents as other encoders could write them, and wants the
// same bytes again: other prefixes and white space, attributes in reverse order,
// character references, comments and CDATA sections.
func TestVariants(t *testing.T) {
	for _, file := range documents(t, goldenDir) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			other := variant(t, want)
			h, entries, err := Decode(strings.NewReader(other))
			if err != nil {
				t.Fatalf("%v of\n%s", err, other)
			}
			if got := encode(h, entries); !bytes.Equal(got, want) {
				t.Errorf("encoded again:\n%s\nwant:\n%s\nof\n%s", got, want, other)
			}
		})
	}
}

// variant writes the XML in data in another way.
func variant(t *testing.T, data []byte) string {
	prefixes := map[string]string{"http://www.sitemaps.org/schemas/sitemap/0.9": "s", "http://www.openarchives.org/rs/terms/": "r"}
	named := func(n xml.Name) string {
		if n.Space == "" {
			return n.Local
		}
		if prefixes[n.Space] == "" {
			prefixes[n.Space] = fmt.Sprintf("x%d", len(prefixes))
		}
		return prefixes[n.Space] + ":" + n.Local
	}
	var b strings.Builder
	root := true
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			var attrs []string
			for _, a := range slices.Backward(token.Attr) {
				if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" {
					continue
				}
				var value strings.Builder
				for _, r := range a.Value {
					fmt.Fprintf(&value, "&#x%X;", r)
				}
				attrs = append(attrs, fmt.Sprintf("\n\t%s = '%s'", named(a.Name), &value))
			}
			name := named(token.Name)
			if root {
				root = false
				for space, prefix := range prefixes {
					attrs = append(attrs, fmt.Sprintf(" xmlns:%s=%q", prefix, space))
				}
			}
			b.WriteString("<" + name + strings.Join(attrs, "") + "\n>")
		case xml.EndElement:
			b.WriteString("</" + named(token.Name) + " >\r\n<!-- " + token.Name.Local + " -->")
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				b.WriteString("\n  <![CDATA[" + text + "]]>\n")
			}
		}
	}
}

// TestExamples decodes the documents of the specifications and wants the same
// XML again.
func TestExamples(t *testing.T) {
	for dir, n := range map[string]int{"examples/core-1.1": 30, "examples/archives": 7} {
		files := documents(t, shared(t, dir))
		if len(files) != n {
			t.Errorf("%s has %d documents, want %d", dir, len(files), n)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				h, entries, err := Decode(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				got, want := canonical(t, encode(h, entries)), canonical(t, data)
				if got != want {
					t.Errorf("encoded again:\n%s\nwant:\n%s", got, want)
				}
			})
		}
	}
}

// canonical returns the XML in data, a line for each tag or text. The order of
// attributes, the amount of white space in them and around text, prefixes, and how
// precise a whole second is do not count, nor do digests that are not hexadecimal,
// of which the examples have some.
func canonical(t *testing.T, data []byte) string {
	var lines []string
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return strings.Join(lines, "\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			var attrs []string
			for _, a := range token.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
					values := strings.Fields(strings.TrimSuffix(strings.TrimSuffix(a.Value, ".000000Z"), "Z"))
					if a.Name.Local == "hash" {
						values = slices.DeleteFunc(values, func(h string) bool {
							_, digest, _ := strings.Cut(h, ":")
							return strings.Trim(digest, "0123456789abcdefABCDEF") != "" || digest == ""
						})
					}
					if len(values) > 0 {
						attrs = append(attrs, fmt.Sprintf("{%s}%s=%q", a.Name.Space, a.Name.Local, values))
					}
				}
			}
			slices.Sort(attrs)
			lines = append(lines, fmt.Sprintf("<{%s}%s %s>", token.Name.Space, token.Name.Local, strings.Join(attrs, " ")))
		case xml.EndElement:
			lines = append(lines, "</>")
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				lines = append(lines, text)
			}
		}
	}
}

// TestSchema validates what the encoder writes with the XML Schemas. They want
// at least one entry in a document, and media types without a dot, which the
// specification does not.
func TestSchema(t *testing.T) {
	schemas := shared(t, "schema")
	xmllint := needs.Program(t, "xmllint")
	byRoot := map[bool][]string{}
	dir := t.TempDir()
	for i, file := range documents(t, goldenDir) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h, entries, err := Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(file)))
		if err := os.WriteFile(out, encode(h, entries), 0o644); err != nil {
			t.Fatal(err)
		}
		byRoot[h.Index] = append(byRoot[h.Index], out)
	}
	full := filepath.Join(dir, "full.xml")
	h, entries := fullDocument()
	if err := os.WriteFile(full, encode(h, entries), 0o644); err != nil {
		t.Fatal(err)
	}
	byRoot[false] = append(byRoot[false], full)
	for index, files := range byRoot {
		schema := "joint-urlset-local-1.1.xsd"
		if index {
			schema = "joint-sitemapindex-local-1.1.xsd"
		}
		args := append([]string{"--nonet", "--noout", "--schema", filepath.Join(schemas, schema)}, files...)
		if out, err := exec.CommandContext(t.Context(), xmllint, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", schema, err, out)
		}
	}
}
