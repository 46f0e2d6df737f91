package dir

import (
	"slices"
	"strings"
	"testing"
)

// TestExcludePatterns: scans, their estimate, single files and requests follow the same patterns.
func TestExcludePatterns(t *testing.T) {
	all := []string{"a.tmp", "a.txt", "drafts/2026/b.txt", "drafts/c.txt", "sub/Thumbs.db", "sub/a.TMP", "sub/drafts", "sub/tmp/d.txt", "thumbs/~$e.docx"}
	for _, test := range []struct {
		patterns string
		excluded string
	}{
		{"", ""},
		{"*.tmp", "a.tmp"},
		{"Thumbs.db ~$*", "sub/Thumbs.db thumbs/~$e.docx"},
		{"drafts", "drafts/2026/b.txt drafts/c.txt sub/drafts"},
		{"drafts/", "drafts/2026/b.txt drafts/c.txt"},
		{"/drafts", "drafts/2026/b.txt drafts/c.txt"},
		{"drafts/2026", "drafts/2026/b.txt"},
		{"*/drafts", "sub/drafts"},
		{"*/*.txt", "drafts/c.txt"},
		{"/*.t?p [st]ub/", "a.tmp sub/Thumbs.db sub/a.TMP sub/drafts sub/tmp/d.txt"},
		{`a.\tmp`, "a.tmp"},
	} {
		t.Run(test.patterns, func(t *testing.T) {
			root := t.TempDir()
			for _, key := range all {
				write(t, root, key, key)
			}
			d := openDir(t, root, &Options{ExcludePatterns: strings.Fields(test.patterns)})
			excluded := strings.Fields(test.excluded)
			var want []string
			for _, key := range all {
				is := slices.Contains(excluded, key)
				if d.Excludes(key) != is || d.Lists(key) == is {
					t.Errorf("%s: excluded %t, listed %t", key, d.Excludes(key), d.Lists(key))
				}
				if !is {
					want = append(want, key)
				}
			}
			wantKeys(t, complete(t, d), strings.Join(want, " "))
			if n, _, err := d.Estimate(t.Context()); err != nil || n != int64(len(want)) {
				t.Errorf("estimated %d files, %v", n, err)
			}
			set := map[string]struct{}{}
			_, part := d.Part(t.Context(), append(slices.Clone(all), "drafts/"))
			for r, err := range part {
				must(t, err)
				set[r.Key] = struct{}{}
			}
			if len(set) != len(want) {
				t.Errorf("a part has %d files, want %d", len(set), len(want))
			}
			if id := d.Identity(); id.Excluded != strings.ReplaceAll(test.patterns, " ", "\n") {
				t.Errorf("recorded %q", id.Excluded)
			}
		})
	}
}

func TestBadPatterns(t *testing.T) {
	for _, pattern := range []string{"", "/", "//a", "a//", "a//b", "./a", "a/../b", "..", "[a", `a\`} {
		if _, err := Open(t.TempDir(), "http://example.org/", &Options{ExcludePatterns: []string{"ok", pattern}}); err == nil || !strings.Contains(err.Error(), "give a name such as Thumbs.db") {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestLitter(t *testing.T) {
	root := t.TempDir()
	for _, key := range []string{"a.txt", "@eaDir/b", "~$a.docx", ".~lock.a.odt#", "._a.txt", "Thumbs.db", "sub/.DS_Store", "sub/x.tmp", "$RECYCLE.BIN/c", "sub/tmp.txt"} {
		write(t, root, key, key)
	}
	wantKeys(t, complete(t, openDir(t, root, &Options{DotFiles: true, ExcludePatterns: Litter})), "a.txt sub/tmp.txt")
}
