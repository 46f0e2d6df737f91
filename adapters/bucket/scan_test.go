package bucket_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

// names are names of objects, and their last part in a URI.
var names = map[string]string{
	"a.txt":             "a.txt",
	"folder/b c.txt":    "folder/b%20c.txt",
	"folder/1+1=2&x;y":  "folder/1%2B1%3D2%26x%3By",
	"100%/ä?#":          "100%25/%C3%A4%3F%23",
	"folder-x":          "folder-x",
	"folder/deep/er/~x": "folder/deep/er/~x",
}

func TestScan(t *testing.T) {
	each(t, func(t *testing.T, b objects, publish func(bucket.Options) *published) {
		p := publish(bucket.Options{})
		names := maps.Clone(names)
		if !p.isS3 {
			delete(names, "100%/ä?#")
		}
		for key := range names {
			b.Put(t, key, "content of "+key)
		}
		p.scan(t, resourcesync.ScanResult{Created: len(names)})
		listed := p.listed(t)
		for key, tail := range names {
			r, content := listed[key], "content of "+key
			sum := md5.Sum([]byte(content))
			if want := strings.Replace(p.template, "{key}", tail, 1); r.URI != want {
				t.Errorf("%s: URI %s, expected %s", key, r.URI, want)
			}
			if n, _ := r.Length.Bytes(); n != int64(len(content)) || r.Type != "text/plain" || r.LastModified.IsZero() {
				t.Errorf("%s: %+v", key, r)
			}
			want := "[]"
			if p.isS3 {
				want = "[md5:" + hex.EncodeToString(sum[:]) + "]"
			}
			if got := fmt.Sprint(r.Hashes); got != want {
				t.Errorf("%s: hashes %v, expected %v", key, got, want)
			}
			res, err := http.Get(r.URI)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("%s: %v %v", r.URI, res.Status, err)
			}
			res.Body.Close()
			if got, err := p.read(t.Context(), r); got != content {
				t.Errorf("%s: dumps have %q, %v", key, got, err)
			}
		}
		p.scan(t, resourcesync.ScanResult{Unchanged: len(names)})

		b.Put(t, "a.txt", "changed")
		b.Put(t, "new", "")
		b.Delete(t, "folder-x")
		p.scan(t, resourcesync.ScanResult{Created: 1, Updated: 1, Deleted: 1, Unchanged: len(names) - 2})
		if p.log.Len() > 0 {
			t.Error(p.log)
		}
	})
}

// Entity tags of objects that were uploaded in parts are no MD5.
func TestMultipart(t *testing.T) {
	b := s3test.New(t)
	b.Publish(t, "*")
	ctx, name, key := t.Context(), aws.String(b.Name), aws.String("large")
	content := bytes.Repeat([]byte("0123456789"), 600_000)
	upload, err := b.Client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: name, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	var parts []types.CompletedPart
	for i, part := range [][]byte{content[:5<<20], content[5<<20:]} {
		number := aws.Int32(int32(i + 1))
		done, err := b.Client.UploadPart(ctx, &s3.UploadPartInput{Bucket: name, Key: key, UploadId: upload.UploadId, PartNumber: number, Body: bytes.NewReader(part)})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, types.CompletedPart{ETag: done.ETag, PartNumber: number})
	}
	_, err = b.Client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: name, Key: key, UploadId: upload.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	if err != nil {
		t.Fatal(err)
	}
	p := publishS3(t, b, bucket.Options{})
	p.scan(t, resourcesync.ScanResult{Created: 1})
	r := p.listed(t)["large"]
	if n, _ := r.Length.Bytes(); n != int64(len(content)) || len(r.Hashes) != 0 {
		t.Errorf("%+v", r)
	}
	if got, err := p.read(ctx, r); got != string(content) {
		t.Errorf("%d bytes read, %v", len(got), err)
	}
	p.scan(t, resourcesync.ScanResult{Unchanged: 1})
}

func TestPrefix(t *testing.T) {
	b := s3test.New(t)
	b.Publish(t, "papers/*")
	b.Put(t, "papers/1", "one")
	b.Put(t, "letters/1", "private")
	b.Public = strings.Replace(b.Public, "{key}", "papers/{key}", 1)
	p := publishS3(t, b, bucket.Options{Prefix: "papers/"})
	p.scan(t, resourcesync.ScanResult{Created: 1})
	r := p.listed(t)["1"]
	if got, err := p.read(t.Context(), r); got != "one" || !strings.HasSuffix(r.URI, "/papers/1") {
		t.Errorf("%q %v %+v", got, err, r)
	}
}

// An object that is replaced within a second, by one of the same length, is an update even
// if no hash is known.
func TestReplacedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, b objects, publish func(bucket.Options) *published) {
		p := publish(bucket.Options{Private: true})
		b.Put(t, "a", "one")
		p.scan(t, resourcesync.ScanResult{Created: 1})
		for _, content := range []string{"two", "six", "ten"} {
			b.Put(t, "a", content)
			p.scan(t, resourcesync.ScanResult{Updated: 1})
			if got, err := p.read(t.Context(), p.listed(t)["a"]); got != content {
				t.Errorf("%q, %v", got, err)
			}
		}
	})
}

// Names that no URL can have are not listed, and reported once.
func TestNames(t *testing.T) {
	b := s3test.New(t)
	p := publishS3(t, b, bucket.Options{Private: true})
	b.Put(t, "good", "x")
	b.Put(t, "x__0x2b__y", "the driver reads a plus sign instead")
	b.Put(t, "more../x", "the driver reads another name")
	b.Put(t, strings.Repeat("abcdefghi/", 73)+"x", "731 bytes")
	b.Put(t, "folder/", "")
	p.scan(t, resourcesync.ScanResult{Created: 1})
	if got := strings.Count(p.log.String(), "object not listed"); got != 3 {
		t.Errorf("%d reports:\n%s", got, p.log)
	}
	reported := p.log.Len()
	p.scan(t, resourcesync.ScanResult{Unchanged: 1})
	if p.log.Len() != reported {
		t.Error(p.log)
	}
}

// A listing that fails deletes nothing.
func TestListingFails(t *testing.T) {
	b := s3test.New(t)
	p := publishS3(t, b, bucket.Options{Private: true})
	b.Put(t, "a", "x")
	p.scan(t, resourcesync.ScanResult{Created: 1})
	gone := *b
	gone.Name += "-gone"
	q := publishS3(t, &gone, bucket.Options{Private: true})
	result, err := p.set.Scan(t.Context(), q.Resources(t.Context()))
	if err == nil || result.Deleted != 0 || len(p.listed(t)) != 1 {
		t.Errorf("%+v %v", result, err)
	}
}
