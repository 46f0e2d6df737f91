package providertest

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

var openRules = []rule{
	{"Open/bytes", "Opener", needs{opener}, openBytes, "the content has the Length and the Hashes of the resource"},
	{"Open/unknown", "Opener", needs{opener}, openUnknown, "for a resource that is not in the set, the error is io/fs.ErrNotExist"},
	{"OpenChange/bytes", "ChangeOpener", needs{changeOpener, changer}, openChangeBytes,
		"the content has the Length and the Hashes of the changed resource; there is none of a deleted one"},
	{"OpenChange/past", "ChangeOpener", needs{changeOpener, changer, editing}, openChangePast,
		"the content of replaced and deleted versions can still be opened"},
	{"OpenChange/unknown", "ChangeOpener", needs{changeOpener}, openChangeUnknown,
		"for a change that never happened, the error is io/fs.ErrNotExist"},
}

// checksumRules compare the checksums of a Checksummer with the content that it opens as an
// Opener or ChangeOpener.
var checksumRules = []rule{
	{"Checksum/bytes", "Checksummer", needs{opener, checksummer}, checksumBytes, "a checksum is the CRC-32 of the content of the resource"},
	{"Checksum/changes", "Checksummer", needs{changeOpener, changeChecksummer, changer}, checksumChanges,
		"a checksum is the CRC-32 of the content of the changed resource"},
}

var patchRules = []rule{
	{"OpenPatch/bytes", "PatchOpener", needs{patchOpener, changer}, openPatchBytes,
		"the content has the Length and the Hashes of the link, as long as the change is in the journal"},
	{"OpenPatch/unknown", "PatchOpener", needs{patchOpener}, openPatchUnknown, "for a patch that never existed, the error is io/fs.ErrNotExist"},
}

// A content opens what a provider has for a resource or a link.
type content func() (io.ReadCloser, error)

func (s *subject) content(ctx context.Context, r resourcesync.Resource) content {
	return func() (io.ReadCloser, error) { return s.Opener.Open(ctx, r) }
}

func (s *subject) contentOfChange(ctx context.Context, c resourcesync.Change) content {
	return func() (io.ReadCloser, error) { return s.ChangeOpener.OpenChange(ctx, c) }
}

func (s *subject) contentOfPatch(ctx context.Context, c resourcesync.Change, l resourcesync.Link) content {
	return func() (io.ReadCloser, error) { return s.ChangeOpener.(resourcesync.PatchOpener).OpenPatch(ctx, c, l) }
}

// is fails unless the content belongs to r, and returns its CRC-32.
func (open content) is(r resourcesync.Resource) uint32 {
	content := must(open())("%v cannot be opened", r)
	defer content.Close()
	sum := crc32.NewIEEE()
	digests := digest.NewSums(r.Hashes...)
	n := must(io.Copy(io.MultiWriter(sum, digests), content))("%v cannot be read", r)
	if length, known := r.Length.Bytes(); known && n != length {
		fail("%v has %d bytes, its Length is %d", r, n, length)
	}
	for _, have := range digests.Hashes() {
		for _, want := range r.Hashes {
			if have.Algorithm == want.Algorithm && have.Digest != want.Digest { // as documents write them
				fail("%v has %s %s, its hash is %s", r, have.Algorithm, have.Digest, want.Digest)
			}
		}
	}
	ensure(content.Close(), "%v cannot be closed", r)
	return sum.Sum32()
}

// isNot fails if r has content.
func (open content) isNot(r resourcesync.Resource) {
	content, err := open()
	if err == nil {
		content.Close()
		fail("%v can be opened, but it is not in the set", r)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		fail("%v is not in the set: the error is %q, expected io/fs.ErrNotExist", r, err)
	}
}

func openBytes(ctx context.Context, s *subject) {
	for _, r := range sample(s.list(ctx), 100) {
		s.content(ctx, r).is(r)
	}
}

// unknown returns a resource that is not in the set.
func (s *subject) unknown(ctx context.Context) resourcesync.Resource {
	return newResource(s.spare(ctx, 1)[0], 0)
}

func openUnknown(ctx context.Context, s *subject) {
	r := s.unknown(ctx)
	s.content(ctx, r).isNot(r)
}

func openChangeBytes(ctx context.Context, s *subject) {
	s.checkChanges(ctx, sample(s.listChanges(ctx), 100))
}

func (s *subject) checkChanges(ctx context.Context, changes []resourcesync.Change) {
	for _, c := range changes {
		open := s.contentOfChange(ctx, c)
		if c.Type == resourcesync.Deleted {
			open.isNot(c.Resource)
			continue
		}
		ensure(try(func() { open.is(c.Resource) }), "%v", c)
	}
}

func openChangePast(ctx context.Context, s *subject) {
	added := s.journal(ctx)
	s.live(ctx, func(edit) {})
	s.checkChanges(ctx, added())
}

func openChangeUnknown(ctx context.Context, s *subject) {
	r := s.unknown(ctx)
	s.contentOfChange(ctx, resourcesync.Change{Type: resourcesync.Created, Datetime: r.LastModified, Resource: r}).isNot(r)
}

func checksumBytes(ctx context.Context, s *subject) {
	for _, r := range sample(s.list(ctx), 100) {
		ensure(try(func() { s.content(ctx, r).checkSum(ctx, s.Opener, r) }), "%v", r)
	}
}

func checksumChanges(ctx context.Context, s *subject) {
	for _, c := range sample(s.listChanges(ctx), 100) {
		if c.Type != resourcesync.Deleted {
			ensure(try(func() { s.contentOfChange(ctx, c).checkSum(ctx, s.ChangeOpener, c.Resource) }), "%v", c)
		}
	}
}

// checkSum fails if the checksum of opener is not the checksum of the content. Other rules
// check that the content belongs to r. A resource that does not describe its content is not
// compared.
func (open content) checkSum(ctx context.Context, opener any, r resourcesync.Resource) {
	sum, err := opener.(resourcesync.Checksummer).Checksum(ctx, r)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	ensure(err, "Checksum fails with an error other than errors.ErrUnsupported")
	if _, sized := r.Length.Bytes(); !sized && len(r.Hashes) == 0 {
		return
	}
	got := sum
	if try(func() { got = open.is(r) }) == nil && got != sum {
		fail("its CRC-32 is %08x, but Checksum returns %08x", got, sum)
	}
}

func openPatchBytes(ctx context.Context, s *subject) {
	for _, c := range s.listChanges(ctx) {
		for _, l := range c.Resource.Links {
			if l.Rel == resourcesync.RelPatch && c.Type != resourcesync.Deleted {
				patch := resourcesync.Resource{Key: l.Href, Length: l.Length, Hashes: l.Hashes}
				ensure(try(func() { s.contentOfPatch(ctx, withoutLinks(c), l).is(patch) }), "%v: the patch", c)
			}
		}
	}
}

// withoutLinks returns c as a Source passes it to openers.
func withoutLinks(c resourcesync.Change) resourcesync.Change {
	c.Resource.Links, c.Resource.Attrs = nil, nil
	return c
}

func openPatchUnknown(ctx context.Context, s *subject) {
	r := s.unknown(ctx)
	l := newPatch(r)
	r.Links = []resourcesync.Link{l}
	c := resourcesync.Change{Type: resourcesync.Updated, Datetime: r.LastModified, Resource: r}
	s.contentOfPatch(ctx, c, l).isNot(resourcesync.Resource{Key: l.Href})
}
