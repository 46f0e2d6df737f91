package mirror

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestCopyMetricsDocumented: docs/mirror.md has each metric of a copy, and no other.
func TestCopyMetricsDocumented(t *testing.T) {
	var described, documented []string
	for _, d := range copyDescs {
		described = append(described, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1])
	}
	text, err := os.ReadFile("../../../../docs/mirror.md")
	if err != nil {
		t.Fatal(err)
	}
	documented = regexp.MustCompile(`resourcesync_copy_[a-z_]+`).FindAllString(string(text), -1)
	slices.Sort(described)
	slices.Sort(documented)
	if documented = slices.Compact(documented); !slices.Equal(described, documented) {
		t.Errorf("documented %q\ndescribed %q", documented, described)
	}
}
