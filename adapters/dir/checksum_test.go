package dir

import (
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestChecksum checks that Checksum knows each resource after a scan, whether the file
// was read in it, known before, or had just changed.
func TestChecksum(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "one")
	write(t, here, "empty", "")
	d := openDir(t, here, &Options{Hashes: []string{"md5"}})
	d.unsettled = time.Hour
	var m memory
	for _, want := range []int64{3, 3, 0} {
		found, read := m.rescan(t, d)
		if read != want {
			t.Errorf("read %d bytes, want %d", read, want)
		}
		for key, content := range map[string]string{"a": "one", "empty": ""} {
			if crc, err := d.Checksum(t.Context(), found[key]); err != nil || crc != crc32.ChecksumIEEE([]byte(content)) {
				t.Errorf("%s: %08x, %v", key, crc, err)
			}
			f, err := d.Open(t.Context(), found[key])
			must(t, err)
			f.Close()
		}
		d.unsettled = 0
	}
}

// TestChecksumUnknown has stamps without a checksum: of a scan without hashes,
// and of one by an earlier release, whose files are read once more.
func TestChecksumUnknown(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "one")
	plain := openDir(t, here, &Options{Hashes: []string{}})
	for _, r := range []resourcesync.Resource{complete(t, plain)["a"], {Key: "a"}, {Key: "a", Stamp: "1.2.3.4+no"}} {
		if _, err := plain.Checksum(t.Context(), r); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("stamp %q: error %v", r.Stamp, err)
		}
	}
	d := openDir(t, here, nil)
	var m memory
	first, _ := m.rescan(t, d)
	whole := first["a"]
	before := whole
	before.Stamp, _, _ = cutSum(before.Stamp)
	m["a"] = before
	for _, want := range []int64{3, 0} {
		if again, read := m.rescan(t, d); read != want || !again["a"].Equal(whole) {
			t.Errorf("read %d bytes, want %d; got %v", read, want, again["a"])
		}
	}
}
