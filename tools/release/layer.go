package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"os"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The user of the image, who owns the folder of the state.
const nonroot = 65532

// layer returns the files of the image, compressed, and the digest of the files without
// compression.
func layer(program string, made time.Time) (packed []byte, plain string, err error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, "", err
	}
	var files bytes.Buffer
	t := tar.NewWriter(&files)
	for _, f := range []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", content: authorities()},
		{name: "resourcesync", content: content, mode: 0o755},
		{name: "state/", mode: 0o700, owner: nonroot},
		{name: "tmp/", mode: 0o1777},
	} {
		if err := f.write(t, made); err != nil {
			return nil, "", err
		}
	}
	if err := t.Close(); err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.DefaultCompression)
	if err != nil {
		return nil, "", err
	}
	if _, err := z.Write(files.Bytes()); err != nil {
		return nil, "", err
	}
	if err := z.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), digest(files.Bytes()), nil
}

// authorities returns Mozilla's certificates, which do not depend on the computer that builds
// the image. Some are trusted for certificates before a certain date only. A file cannot say
// that, so they are left out.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}
