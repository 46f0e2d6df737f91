package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/check"
)

// TestFilters omits findings of less harm or force, and counts them.
func TestFilters(t *testing.T) {
	for _, test := range []struct {
		harm    check.Harm
		force   check.Force
		want    []string
		omitted int64
	}{
		{"", "", []string{"changefreq-value", "changes-gap", "interval-gap", "link-index-missing"}, 0},
		{check.Error, "", []string{"changes-gap"}, 3},
		{check.Warning, check.None, []string{"changes-gap", "interval-gap"}, 2},
		{"", check.Must, []string{"changefreq-value"}, 3},
		{check.Advice, check.Should, []string{"changefreq-value", "link-index-missing"}, 2},
		{check.Error, check.Should, nil, 4},
	} {
		s := correct(t)
		both(edit(list, "2025-03-01", "2024-03-01"), edit(list1, "2025-03-01", "2024-03-01"), edit(list2, "2025-03-01", "2024-03-01"),
			edit(list1, "daily", "often"), edit(list2, `<rs:ln rel="index" href="{base}/list.xml"/>`+"\n", ""),
			edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<rs:md from="2025-02-02T12:00:00Z"/>`), edit(changes2, `from="2025-02-02T00:00:00Z"`, `from="2025-02-02T12:00:00Z"`))(t, s)
		o := options()
		o.Harm, o.Force = test.harm, test.force
		r, counts := s.judge(t, o)
		if found := rulesOf(counts); !slices.Equal(found, test.want) || r.Omitted != test.omitted || r.OK() != (len(test.want) == 0) {
			t.Errorf("harm %q, force %q: found %q, %d omitted, OK %t\n%s", test.harm, test.force, found, r.Omitted, r.OK(), describe(r))
		}
	}
	for _, o := range []check.Options{{Harm: "bad"}, {Force: "bad"}, {Ignore: []string{"bad"}}} {
		if _, err := check.Check(t.Context(), "x", &o); err == nil || !strings.Contains(err.Error(), "bad") && o.Ignore != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
