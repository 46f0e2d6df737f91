package rsxml

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// benchResources returns a full page of realistic resources: two hashes, a
// length, a type and a time of modification each, about 300 bytes of XML.
func benchResources() []resourcesync.Resource {
	resources := make([]resourcesync.Resource, MaxEntries)
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range resources {
		resources[i] = resourcesync.Resource{
			URI:          fmt.Sprintf("https://repository.example.org/bitstream/handle/123456789/%d/article.pdf", i),
			LastModified: start.Add(time.Duration(i) * 977 * time.Second),
			Length:       resourcesync.Bytes(int64(i) * 977),
			Type:         "application/pdf",
			Hashes: []resourcesync.Hash{
				{Algorithm: "md5", Digest: fmt.Sprintf("%032x", i)},
				{Algorithm: "sha-256", Digest: fmt.Sprintf("%064x", i)},
			},
		}
	}
	return resources
}

// BenchmarkAppend50000 renders a full Resource List, handing on what it has
// whenever that is enough for a write.
func BenchmarkAppend50000(b *testing.B) {
	resources := benchResources()
	h := &Head{Metadata: Metadata{Capability: resourcesync.ResourceList, At: resources[len(resources)-1].LastModified}}
	var buf []byte
	var size countingWriter
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		buf = AppendHead(buf[:0], h)
		var e Entry
		for i := range resources {
			e.SetResource(&resources[i])
			buf, _ = AppendEntry(buf, h, &e)
			if len(buf) > 1<<15 {
				size.Write(buf)
				buf = buf[:0]
			}
		}
		size.Write(AppendTail(buf, h))
	}
	b.SetBytes(int64(size))
}

// The document as encoding/xml writes it from struct tags. The prefix is part
// of the names, because encoding/xml declares a namespace at each element.
type (
	taggedList struct {
		XMLName struct{}    `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		RS      string      `xml:"xmlns:rs,attr"`
		MD      taggedMD    `xml:"rs:md"`
		URLs    []taggedURL `xml:"url"`
	}
	taggedURL struct {
		Loc     string   `xml:"loc"`
		LastMod string   `xml:"lastmod,omitempty"`
		MD      taggedMD `xml:"rs:md"`
	}
	taggedMD struct {
		Capability string `xml:"capability,attr,omitempty"`
		At         string `xml:"at,attr,omitempty"`
		Hash       string `xml:"hash,attr,omitempty"`
		Length     int64  `xml:"length,attr,omitempty"`
		Type       string `xml:"type,attr,omitempty"`
	}
)

// BenchmarkEncodingXML50000 is the yardstick of BenchmarkAppend50000: the same
// resources through encoding/xml.
func BenchmarkEncodingXML50000(b *testing.B) {
	resources := benchResources()
	at := resources[len(resources)-1].LastModified.Format(time.RFC3339)
	var size countingWriter
	b.ReportAllocs()
	for b.Loop() {
		list := taggedList{RS: TermsNS, MD: taggedMD{Capability: string(resourcesync.ResourceList), At: at}}
		list.URLs = make([]taggedURL, len(resources))
		for i := range resources {
			r := &resources[i]
			length, _ := r.Length.Bytes()
			list.URLs[i] = taggedURL{r.URI, r.LastModified.UTC().Format(time.RFC3339), taggedMD{
				Hash:   r.Hashes[0].String() + " " + r.Hashes[1].String(),
				Length: length,
				Type:   r.Type,
			}}
		}
		size = 0
		if err := xml.NewEncoder(&size).Encode(&list); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(size))
}

type countingWriter int

func (n *countingWriter) Write(p []byte) (int, error) {
	*n += countingWriter(len(p))
	return len(p), nil
}

// BenchmarkDecode50000 reads the document that BenchmarkAppend50000 renders.
func BenchmarkDecode50000(b *testing.B) {
	resources := benchResources()
	h := Head{Metadata: Metadata{Capability: resourcesync.ResourceList, At: resources[len(resources)-1].LastModified}}
	entries := make([]Entry, len(resources))
	for i := range resources {
		entries[i].SetResource(&resources[i])
	}
	data := encode(h, entries)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range NewDecoder(bytes.NewReader(data)).Entries() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
