package check

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	manifestName = "manifest.xml"

	// maxFiles and maxDirectory are the maximum number of files of a package that is
	// read, and of bytes of their directory, which is held in memory.
	maxFiles     = 1_000_000
	maxDirectory = 256 << 20
)

// A pack is a package that is being checked.
type pack struct {
	*checker
	name  string
	here  place
	files map[string]*packed

	listSection, section string // of dumps of this kind, and of their manifests
}

// packed is a file of a package.
type packed struct {
	*zip.File
	listed bool
}

// zip checks a package. dump is the kind of dump that lists it, or "" if that is not known.
// contents is the URL of a copy of its manifest, or "". each receives the entries of the manifest, and
// may be nil.
func (c *checker) zip(ctx context.Context, name string, r io.ReaderAt, size int64, dump resourcesync.Capability, contents string, each func(*document, *rsxml.Entry)) error {
	c.packages.Add(1)
	p := &pack{checker: c, name: name, here: place{document: name}, files: make(map[string]*packed), listSection: "Core 11.1", section: "Core 11.2"}
	if dump == resourcesync.ChangeDump {
		p.listSection, p.section = "Core 13.1", "Core 13.2"
	}
	count, length, err := directory(r, size)
	if err == nil && (count > maxFiles || length > maxDirectory) {
		c.add("package-size", p.here, "", "the package has %d files and a directory of %d bytes; it was not read", count, length)
		return nil
	}
	var z *zip.Reader
	if err == nil {
		z, err = zip.NewReader(r, size)
	}
	if err != nil {
		c.add("package-unreadable", p.here, p.listSection, "%v", err)
		return nil
	}
	p.index(z)
	manifest := p.files[manifestName]
	if manifest == nil {
		c.add("manifest-missing", p.here, p.section, "the package has no file %s", manifestName)
		return nil
	}
	p.position(z, manifest.File)
	return p.manifest(ctx, manifest.File, dump, contents, each)
}

// index notes the files of the package.
func (p *pack) index(z *zip.Reader) {
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			continue
		}
		if name := f.Name; strings.HasPrefix(name, "/") || strings.Contains(name, `\`) || path.Clean(name) != name || strings.HasPrefix(name, "../") {
			p.add("package-name", p.here, "", "the package has a file with the name %.200q", name)
		}
		p.files[f.Name] = &packed{File: f}
	}
}

// position checks that the manifest is the first file.
func (p *pack) position(z *zip.Reader, manifest *zip.File) {
	at, err := manifest.DataOffset()
	if err != nil {
		return
	}
	for _, f := range z.File {
		if offset, err := f.DataOffset(); err == nil && offset < at && f.Name != manifestName && !f.FileInfo().IsDir() {
			p.add("manifest-position", p.here, p.section, "%s is before the manifest", f.Name)
			return
		}
		if len(z.File) > 1000 {
			return // the first of the directory is enough
		}
	}
}

// manifest checks the manifest and the files that it lists.
func (p *pack) manifest(ctx context.Context, f *zip.File, dump resourcesync.Capability, contents string, each func(*document, *rsxml.Entry)) error {
	r, err := f.Open()
	if err != nil {
		p.add("package-unreadable", p.here, p.listSection, "%s: %v", manifestName, err)
		return nil
	}
	defer r.Close()
	name := p.name + "!/" + manifestName
	some := newSample[member](p.options.Sample)
	d, err := p.read(name, nil, io.LimitReader(r, maxManifest), expectation{}, time.Now(), func(d *document, e *rsxml.Entry, at place) {
		p.entries.Add(1)
		p.member(d, e, at, some)
		if each != nil {
			each(d, e)
		}
	})
	p.documents.Add(1)
	p.bytes.Add(d.bytes)
	if err != nil {
		p.add("package-unreadable", p.here, p.listSection, "%s: %v", manifestName, err)
		return nil
	}
	if each != nil && d.complete {
		each(d, nil)
	}
	p.kind(d, dump)
	p.unlisted()
	for _, m := range some.all() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.compare(m)
	}
	if contents != "" && d.complete {
		return p.contents(ctx, contents, d)
	}
	return nil
}

// maxManifest is the maximum size, in bytes, of a manifest that is read.
const maxManifest = 1 << 30

// kind checks the capability of the manifest.
func (p *pack) kind(d *document, dump resourcesync.Capability) {
	want := manifestOf(dump)
	switch {
	case d.capability == want || d.head.Metadata.Capability == "":
	case want == "" && (d.capability == resourcesync.ResourceDumpManifest || d.capability == resourcesync.ChangeDumpManifest):
	default:
		p.add("manifest-capability", d.place, p.section, "the capability of the manifest is %q", d.capability)
	}
}

// member checks an entry of the manifest.
func (p *pack) member(d *document, e *rsxml.Entry, at place, some *sample[member]) {
	m := &e.Metadata
	if m.Path == "" {
		return // the decoder has reported it
	}
	name := strings.TrimPrefix(m.Path, "/")
	f := p.files[name]
	if f == nil {
		p.add("package-file-missing", at, p.section, "the package has no file %.200q", name)
		return
	}
	f.listed = true
	if want, known := m.Length.Bytes(); known && uint64(want) != f.UncompressedSize64 {
		p.add("package-file-content", at, "", "the length of %q is %d, but the manifest says %d", name, f.UncompressedSize64, want)
		return
	}
	if p.options.All {
		p.compare(memberOf(e, name, at))
		return
	}
	some.add(name, memberOf(e, name, at))
}

// unlisted reports files that the manifest does not list.
func (p *pack) unlisted() {
	var names []string
	for name, f := range p.files {
		if !f.listed && name != manifestName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p.add("package-file-unlisted", p.here, p.section, "the manifest does not list %.200q", name)
	}
}

// compare compares a file with its entry.
func (p *pack) compare(m member) {
	f := p.files[m.name]
	if f.UncompressedSize64 > uint64(p.options.MaxContent) {
		p.skip("%s in %s was not compared with its entry: it has more than %d bytes", m.name, p.name, p.options.MaxContent)
		return
	}
	sums := digest.NewSums(m.want.Hashes...)
	r, err := f.Open()
	if err == nil {
		_, err = io.Copy(sums, r)
		r.Close()
	}
	if err != nil {
		p.add("package-file-content", m.at, "", "%q cannot be read: %v", m.name, err)
		return
	}
	p.packed.Add(1)
	if d := digest.Differ(sums.Hashes(), m.want.Hashes); d != nil {
		p.add("package-file-content", m.at, "", "the %s of %q is %s, but the manifest says %s", d.Want.Algorithm, m.name, d.Have.Digest, d.Want.Digest)
	}
}

// directory returns the number of files in the directory of a ZIP file, and its size, before it
// is read into memory (APPNOTE 4.3.14 and 4.3.16).
func directory(r io.ReaderAt, size int64) (count, length uint64, err error) {
	const (
		endLength = 22
		locator   = 20
		end64     = 56
	)
	tail := make([]byte, min(size, endLength+1<<16))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, 0, err
	}
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || i+endLength > len(tail) {
		return 0, 0, errors.New("the file has no ZIP directory: it is not a ZIP file, or its end is missing")
	}
	end := tail[i:]
	count, length = uint64(binary.LittleEndian.Uint16(end[10:])), uint64(binary.LittleEndian.Uint32(end[12:]))
	if count != 1<<16-1 && length != 1<<32-1 || i < locator || string(tail[i-locator:i-locator+4]) != "PK\x06\x07" {
		return count, length, nil
	}
	at := binary.LittleEndian.Uint64(tail[i-locator+8:])
	if at > uint64(size)-end64 || size < end64 {
		return 0, 0, fmt.Errorf("the ZIP64 directory would be at byte %d of %d", at, size)
	}
	record := make([]byte, end64)
	if _, err := r.ReadAt(record, int64(at)); err != nil {
		return 0, 0, err
	}
	if string(record[:4]) != "PK\x06\x06" {
		return count, length, nil
	}
	return binary.LittleEndian.Uint64(record[32:]), binary.LittleEndian.Uint64(record[40:]), nil
}
