package bucketurl

import (
	"strings"
	"testing"
)

// TestPasswords checks that no error shows a password, wherever the URL has it.
func TestPasswords(t *testing.T) {
	const inURL = "not in the URL"
	for text, want := range map[string]string{
		"s3://user:secret@papers":                           inURL,
		"s3://user:secret@":                                 inURL,
		"s3://user:secret%ss@papers":                        "is not valid: " + knownBuckets,
		"s3://user:secret@papers:port":                      "is not valid: " + knownBuckets,
		"ftp://user:secret@papers":                          "the scheme ftp is not known",
		"file://user:secret@papers":                         "needs no bucket",
		"s3://?endpoint=https://user:secret@host":           inURL,
		"ftp://papers?endpoint=https://user:secret@host":    inURL,
		"s3://papers?prefix=a&endpoint=https://u:secret@me": inURL,
	} {
		if _, err := Parse(text); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}
