package check_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/check"
)

// errata are the violations in the specifications' own examples, by the end of the file name:
// the first eight lack the mandatory link to the Capability List, and the hashes of links in
// example 27 are encoded in base64url.
var errata = map[string][]string{
	"/core/example-01.xml": {"link-up-missing"}, "_ex_1.xml": {"link-up-missing"},
	"/core/example-02.xml": {"link-up-missing"}, "_ex_2.xml": {"link-up-missing"},
	"/core/example-03.xml": {"link-up-missing"}, "_ex_3.xml": {"link-up-missing"},
	"/core/example-04.xml": {"link-up-missing"}, "_ex_4.xml": {"link-up-missing"},
	"/core/example-05.xml": {"link-up-missing"}, "_ex_5.xml": {"link-up-missing"},
	"/core/example-08.xml": {"link-up-missing"}, "_ex_8.xml": {"link-up-missing"},
	"_ex_27.xml": {"hash-digest"},
}

func TestExamples(t *testing.T) {
	folders := []string{"../testdata"}
	if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
		folders = append(folders, filepath.Join(shared, "examples"))
	}
	count := 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".xml" {
				return err
			}
			count++
			r, err := check.Check(t.Context(), name, nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return nil
			}
			var found []string
			for _, f := range r.Findings {
				if f.Fails() && !slices.Contains(found, f.Rule) {
					found = append(found, f.Rule)
				}
			}
			var known []string
			for end, rules := range errata {
				if strings.HasSuffix(filepath.ToSlash(name), end) {
					known = append(known, rules...)
				}
			}
			if !slices.Equal(found, known) {
				t.Errorf("%s: found %v, want %v\n%s", name, found, known, describe(r))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if count < 42 {
		t.Errorf("%d examples", count)
	}
}
