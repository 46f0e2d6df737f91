package s3bucket_test

import (
	"encoding/hex"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
)

// The entity tag is an MD5 only if the response for the object says so.
func TestMD5(t *testing.T) {
	const sum, tag = "d41d8cd98f00b204e9800998ecf8427e", `"d41d8cd98f00b204e9800998ecf8427e"`
	for _, c := range []struct {
		name, etag string
		answer     http.Header
		want       string
	}{
		{"no response", tag, nil, ""},
		{"a plain object", tag, http.Header{"Etag": {tag}}, sum},
		{"encrypted by S3", tag, http.Header{"Etag": {tag}, "X-Amz-Server-Side-Encryption": {"AES256"}}, sum},
		{"encrypted by KMS", tag, http.Header{"Etag": {tag}, "X-Amz-Server-Side-Encryption": {"aws:kms"}}, ""},
		{"encrypted by KMS twice", tag, http.Header{"Etag": {tag}, "X-Amz-Server-Side-Encryption": {"aws:kms:dsse"}}, ""},
		{"encrypted by the customer", tag, http.Header{"Etag": {tag}, "X-Amz-Server-Side-Encryption-Customer-Algorithm": {"AES256"}}, ""},
		{"in parts", `"d41d8cd98f00b204e9800998ecf8427e-2"`, http.Header{"Etag": {`"d41d8cd98f00b204e9800998ecf8427e-2"`}}, ""},
		{"another object", tag, http.Header{"Etag": {`"00000000000000000000000000000000"`}}, ""},
		{"a cache without entity tags", tag, http.Header{}, ""},
		{"a weak one", `W/` + tag, http.Header{"Etag": {`W/` + tag}}, ""},
		{"no hexadecimal", `"x41d8cd98f00b204e9800998ecf8427e"`, http.Header{"Etag": {`"x41d8cd98f00b204e9800998ecf8427e"`}}, ""},
		{"Google", `"-CKih16GjycICEAE="`, http.Header{"X-Goog-Hash": {"crc32c=AAAAAA==,md5=1B2M2Y8AsgTpgAmY7PhCfg=="}}, sum},
		{"Google, of a composed object", tag, http.Header{"X-Goog-Hash": {"crc32c=AAAAAA=="}, "Etag": {tag}}, ""},
	} {
		if got := hex.EncodeToString(s3bucket.Service{}.MD5(nil, c.etag, c.answer)); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}

// The SDK prints no warning for each object without a checksum.
func TestNoWarnings(t *testing.T) {
	var in s3.GetObjectInput
	var options []func(*s3.Options)
	as := func(v any) bool {
		switch v := v.(type) {
		case **s3.GetObjectInput:
			*v = &in
		case **[]func(*s3.Options):
			*v = &options
		default:
			return false
		}
		return true
	}
	if err := (s3bucket.Service{}).BeforeRead(as, `"1"`); err != nil || in.IfMatch == nil || *in.IfMatch != `"1"` {
		t.Fatalf("%v, %+v", err, in)
	}
	var o s3.Options
	for _, set := range options {
		set(&o)
	}
	if !o.DisableLogOutputChecksumValidationSkipped {
		t.Error("warnings are not off")
	}
}
