package bucket

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// The reasons not to list an object because of its name.
var (
	errTooLong = errors.New("its name or URI is too long")
	errDots    = errors.New(`its name has a segment "." or "..", which clients remove from a URL`)
	errRenamed = errors.New("the driver of the store reads another name instead")
)

// publicMark begins the stamp of an object that could be read without credentials.
const publicMark = "+"

// An object is a listed object of the bucket.
type object struct {
	*blob.ListObject
	etag  string
	known resourcesync.Resource // its Key is empty if the set does not have it
}

// isMarker reports whether o stands for an empty folder.
func isMarker(o *blob.ListObject) bool {
	return o.IsDir || o.Key == "" || strings.HasSuffix(o.Key, "/")
}

// checkName returns the reason why an object with this name cannot be listed, or nil.
func (b *Bucket) checkName(key, name string) error {
	switch {
	case len(key) > resourcesync.MaxKeyLength:
		return errTooLong
	case name != "" && (!strings.HasSuffix(name, key) || !b.options.Service.Reads(name)):
		return errRenamed
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "." || segment == ".." {
			return errDots
		}
	}
	// Each byte becomes three at most.
	if n := len(b.template.before) + len(b.template.after); n+3*len(key) > rsxml.MaxURI && len(b.template.uri(key)) > rsxml.MaxURI {
		return errTooLong
	}
	return nil
}

// appendVersion appends the version of o: its length, its time and its entity tag.
func (o *object) appendVersion(dst []byte) []byte {
	dst = strconv.AppendInt(dst, o.Size, 36)
	dst = append(dst, '.')
	dst = strconv.AppendInt(dst, o.ModTime.UnixNano(), 36)
	dst = append(dst, '.')
	return append(dst, o.etag...)
}

// A version is the parsed version of an object.
type version struct {
	size     int64
	modified time.Time
	etag     string // "" if it is unknown
}

// parseVersion parses the Stamp of a resource.
func parseVersion(stamp string) (v version, ok bool) {
	size, rest, _ := strings.Cut(strings.TrimPrefix(stamp, publicMark), ".")
	modified, etag, found := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(size, 36, 64)
	at, err2 := strconv.ParseInt(modified, 36, 64)
	return version{n, time.Unix(0, at), etag}, found && err == nil && err2 == nil
}

// isUnchanged reports whether the set has the current version of o.
func (b *Bucket) isUnchanged(o *object) bool {
	if o.known.Key == "" || !b.template.isURI(o.known.URI, o.Key) {
		return false
	}
	stamp, public := strings.CutPrefix(o.known.Stamp, publicMark)
	var buf [128]byte
	return (public || b.options.Private) && stamp == string(o.appendVersion(buf[:0]))
}

// resource returns the resource of o. answer is the header of the response to the
// anonymous request, or nil.
func (b *Bucket) resource(o *object, answer http.Header) resourcesync.Resource {
	stamp := string(o.appendVersion(nil))
	r := resourcesync.Resource{
		Key:          o.Key,
		URI:          b.template.uri(o.Key),
		LastModified: o.ModTime.UTC().Truncate(time.Second),
		Length:       resourcesync.Bytes(o.Size),
		Stamp:        stamp,
	}
	if answer != nil {
		r.Stamp = publicMark + stamp
		r.Type, r.Encoding = mediaType(answer), contentEncoding(answer)
	}
	if md5 := b.options.Service.MD5(o.ListObject, o.etag, answer); len(md5) > 0 {
		r.Hashes = []resourcesync.Hash{{Algorithm: "md5", Digest: hex.EncodeToString(md5)}}
	}
	// The times of most stores count in seconds, and an object that is replaced twice in
	// a second has two versions with the same entry. The time does not tell them apart.
	if o.known.Key != "" && o.known.EqualEntry(r) && strings.TrimPrefix(o.known.Stamp, publicMark) != stamp {
		r.LastModified = time.Time{}
	}
	return r
}
