package dir

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// awkwardNames are file names that are hard to handle in folders, URLs or XML.
var awkwardNames = []string{
	"plain.txt", "with space.txt", " leading", "trailing ", "100%.txt", "%41.txt", "%2F", "%2e%2e", "a?b=c", "a#b",
	"a&b;c=d+e,f$g@h", "a:b", "https:", "-rf", "--", "*", "~", "é.txt", "e\u0301.txt", "日本語.html",
	"\xff\xfe.bin", "caf\xe9", "new\nline", "tab\there", "\x01\x7f", `back\slash`, `..\..\x`, `C:\x`, `"quoted"'`,
	"<b>&amp;", "a..b", "a.", "{x}[y]|^`", "\u202eevil", strings.Repeat("long", 63),
}

func TestURIsOfAwkwardNames(t *testing.T) {
	d := openDir(t, t.TempDir(), nil)
	for _, name := range awkwardNames {
		checkRoundTrip(t, d, name)
		checkRoundTrip(t, d, "a b/"+name+"/"+name)
	}
}

func FuzzURI(f *testing.F) {
	for _, name := range awkwardNames {
		f.Add(name)
	}
	d := openDir(f, f.TempDir(), nil)
	f.Fuzz(func(t *testing.T, key string) { checkRoundTrip(t, d, key) })
}

func TestURIsOfRandomNames(t *testing.T) {
	d := openDir(t, t.TempDir(), nil)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		name := make([]byte, 1+random.IntN(30))
		for i := range name {
			name[i] = byte(random.Uint32())
		}
		checkRoundTrip(t, d, string(name))
	}
}

// checkRoundTrip checks that the URI of key is valid, and leads back to key when
// net/http parses it from a request line.
func checkRoundTrip(t *testing.T, d *Dir, key string) {
	t.Helper()
	uri, ok := d.uri(key)
	if !ok {
		return
	}
	for _, c := range []byte(uri) {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/$&+,;=@%*", rune(c)) {
			t.Errorf("the URI of %q has a %q: %s", key, c, uri)
		}
	}
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatalf("the URI of %q: %v", key, err)
	}
	if u.String() != uri || u.RawQuery != "" || u.Fragment != "" {
		t.Errorf("the URI of %q is %s, parsed %s", key, uri, u)
	}
	r := httptest.NewRequest(http.MethodGet, u.RequestURI(), nil)
	if got, ok := d.Key(r.URL); !ok || got != key {
		t.Errorf("the URI of %q leads to %q, %t: %s", key, got, ok, uri)
	}
}

func TestLimitsOfNames(t *testing.T) {
	var log logbook
	here := t.TempDir()
	folder := strings.Repeat("d", 250)
	tail := strings.Repeat("x", resourcesync.MaxKeyLength-2*len(folder+"/"))
	fits := strings.Repeat(folder+"/", 2) + tail
	write(t, here, fits, "")
	write(t, here, fits+"x", "")
	last := strings.Repeat(folder+"/", 2) + strings.Repeat("z", len(tail)-len("/z")) + "/z"
	write(t, here, last, "")
	inVain := strings.Repeat(folder+"/", 2) + strings.Repeat("y", len(tail))
	write(t, here, inVain+"/1", "")
	write(t, here, inVain+"/2", "") // counts as one with the other

	// Each of these bytes takes three bytes in a URI.
	umlauts := strings.Repeat("ü", 60)
	room := (rsxml.MaxURI - len(base)) / 3 / len("ü")
	uriFits := strings.Repeat(umlauts+"/", 5) + strings.Repeat("ü", room-5*60-3)
	write(t, here, uriFits, "")
	write(t, here, uriFits+"üüüü", "")

	d := openDir(t, here, &Options{Logger: log.logger()})
	found := complete(t, d)
	if len(found) != 3 || found[fits].Key == "" || found[last].Key == "" || found[uriFits].Key == "" {
		t.Errorf("found %d: %q", len(found), keys(found))
	}
	if n := len(found[uriFits].URI); n > rsxml.MaxURI || n < rsxml.MaxURI-20 {
		t.Errorf("the URI that just fits has %d characters", n)
	}
	if d.Progress().Skipped != 3 || d.Progress().Resources != 3 || log.lines("dir: skipped") != 3 {
		t.Errorf("%+v, log:\n%s", d.Progress(), &log.buf)
	}
}

// TestD11_SkippedFilesAreLoggedOnce logs ten of many, and nothing in the next scan,
// which finds the same files.
func TestD11_SkippedFilesAreLoggedOnce(t *testing.T) {
	const lines = 10
	var log logbook
	here := t.TempDir()
	d := openDir(t, here, &Options{Logger: log.logger()})
	for i := range 3 * lines {
		write(t, here, strings.Repeat("é/", 200)+strings.Repeat("é", 120)+fmt.Sprint(i), "")
	}
	for range 2 {
		wantKeys(t, complete(t, d), "")
		if n := log.lines("msg="); n != lines+1 || d.Progress().Skipped != 3*lines || log.lines(`"dir: total of skipped files" files=30`) != 1 {
			t.Errorf("%d lines, want %d, told %+v:\n%s", n, lines+1, d.Progress(), &log.buf)
		}
	}
	must(t, os.RemoveAll(filepath.Join(here, "é")))
	wantKeys(t, complete(t, d), "")
	if n := log.lines("msg="); n != lines+2 || log.lines("files are no longer skipped") != 1 {
		t.Errorf("%d lines when the files are gone:\n%s", n, &log.buf)
	}
}
