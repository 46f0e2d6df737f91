package origin

import (
	"cmp"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// TestStranger checks all valid forms of --scan-as.
func TestStranger(t *testing.T) {
	address := netip.MustParseAddr
	for given, want := range map[string]sitemap.Stranger{
		"none":                       {Off: true},
		"192.0.2.1":                  {Address: address("192.0.2.1")},
		"2001:db8::1":                {Address: address("2001:db8::1")},
		" 192.0.2.1, ":               {Address: address("192.0.2.1")},
		"192.0.2.1,CF-Connecting-IP": {Address: address("192.0.2.1"), Headers: []string{"CF-Connecting-IP"}},
		"203.0.113.7, x-forwarded-for, forwarded": {Address: address("203.0.113.7"), Headers: []string{"x-forwarded-for", "forwarded"}},
		"2001:db8::1 X-Real-IP":                   {Address: address("2001:db8::1"), Headers: []string{"X-Real-IP"}},
	} {
		if got, err := parseStranger(given); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v, want %+v", given, got, err, want)
		}
	}
}

// TestFolderSettings: the settings of a folder arrive in its configuration.
func TestFolderSettings(t *testing.T) {
	f, c := new(Folder), new(settings.Catalog)
	f.Shared().Declare(c)
	f.Declare(c)
	given, _, err := c.Parse([]string{"folder", "--hash", "md5,sha-256", "--rescan", "1h30m", "--max-delete", "12.5%", "--max-delete-hold", "0", "--dumps", "--keep-versions", "30d",
		"--versions", "v", "--set-described-by", "urn:set", "--dot-files", "--exclude", "*.bak", "--exclude", "litter"})
	if err == nil {
		err = cmp.Or(c.Apply(given), f.Shared().Check(), f.Check(""))
	}
	if err != nil {
		t.Fatal(err)
	}
	want := &Folder{
		Common: Common{Rescan: 90 * time.Minute, MaxDelete: 0.125, Dumps: true, DescribedBy: "urn:set"},
		Dir:    "folder", hash: "md5,sha-256", hashes: []string{"md5", "sha-256"}, Keep: 30 * settings.Day, versions: "v", dotFiles: true, exclude: exclusions{"*.bak", "litter"}, browse: true,
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got\n%+v\nwant\n%+v", f, want)
	}
}
