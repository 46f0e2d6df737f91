package digest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

const (
	hexadecimal = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of "hello"
	base64      = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="
)

func ExampleOf() {
	_, hashes, _ := digest.Of(strings.NewReader("hello"), []resourcesync.Hash{{Algorithm: "md5"}})
	for _, h := range hashes {
		fmt.Println(h)
	}
	// Output:
	// md5:5d41402abc4b2a76b9719d911017c592
	// sha-256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
}

// TestCompare compares all spellings of the field: the algorithm without a hyphen, upper case,
// base64.
func TestCompare(t *testing.T) {
	have := []resourcesync.Hash{{Algorithm: "sha-256", Digest: hexadecimal}}
	for name, test := range map[string]struct {
		want             resourcesync.Hash
		comparable, same bool
	}{
		"equal":               {resourcesync.Hash{Algorithm: "sha-256", Digest: hexadecimal}, true, true},
		"without a hyphen":    {resourcesync.Hash{Algorithm: "SHA256", Digest: hexadecimal}, true, true},
		"upper case":          {resourcesync.Hash{Algorithm: "sha-256", Digest: strings.ToUpper(hexadecimal)}, true, true},
		"base64":              {resourcesync.Hash{Algorithm: "sha-256", Digest: base64}, true, true},
		"another digest":      {resourcesync.Hash{Algorithm: "sha-256", Digest: strings.Repeat("0", 64)}, true, false},
		"another algorithm":   {resourcesync.Hash{Algorithm: "md5", Digest: hexadecimal}, false, true},
		"an unknown spelling": {resourcesync.Hash{Algorithm: "sha", Digest: hexadecimal}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			want := []resourcesync.Hash{test.want}
			comparable, same := digest.Compare(have, want)
			if comparable != test.comparable || same != test.same {
				t.Errorf("comparable %t, same %t", comparable, same)
			}
			if differ := digest.Differ(have, want); (differ == nil) != test.same {
				t.Errorf("Differ returned %v", differ)
			}
			if agree := digest.Agree(have, want); agree != (test.comparable && test.same) {
				t.Errorf("Agree returned %t", agree)
			}
		})
	}
}

// TestIs accepts exactly the texts that Compare can read.
func TestIs(t *testing.T) {
	for h, want := range map[resourcesync.Hash]bool{
		{Algorithm: "sha-256", Digest: hexadecimal}:                          true,
		{Algorithm: "SHA-256", Digest: strings.ToUpper(hexadecimal)}:         true,
		{Algorithm: "sha256", Digest: base64}:                                true,
		{Algorithm: "sha-256", Digest: hexadecimal[1:]}:                      false,
		{Algorithm: "sha-256", Digest: hexadecimal[1:] + "x"}:                false,
		{Algorithm: "sha-256", Digest: strings.Replace(base64, "=", "*", 1)}: false,
		{Algorithm: "shake128", Digest: "anything"}:                          true,
	} {
		if got := digest.Is(h); got != want {
			t.Errorf("Is(%v) = %t", h, got)
		}
	}
}
