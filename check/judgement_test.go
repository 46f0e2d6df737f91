package check_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/check"
)

// olderList makes the Resource List older than the last changes: c was updated and d deleted since.
func olderList(t *testing.T, s *site) {
	const at, older = `at="2025-03-01T00:00:00Z"`, `at="2025-02-02T12:00:00Z"`
	for _, path := range []string{list, list1, list2} {
		s.edit(t, path, at, older)
	}
	s.edit(t, list2, "{length /c}", "77")
	s.edit(t, list2, "{sha256 /c}", "{sha256 /a}")
	s.edit(t, list2, "2025-02-03T", "2025-02-01T")
	s.edit(t, list2, "</urlset>", `<url><loc>{base}/d</loc>`+lastmodA+`</url></urlset>`)
	s.edit(t, changes2, `change="updated" datetime="2025-02-03T00:00:00Z"`, `change="updated" datetime="2025-02-03T00:00:00Z" hash="sha-256:{sha256 /c}" length="{length /c}"`)
}

// TestJudgements has findings that do harm and break nothing, and the reverse.
func TestJudgements(t *testing.T) {
	for name, test := range map[string]struct {
		plant func(*testing.T, *site)
		want  string // rule, harm, force, and whether the report is OK; "" for no finding
	}{
		"a gap between two Change Lists":               {both(edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<rs:md from="2025-02-02T12:00:00Z"/>`), edit(changes2, `from="2025-02-02T00:00:00Z"`, `from="2025-02-02T12:00:00Z"`)), "interval-gap warning none true"},
		"a Resource List before the first from":        {both(edit(list, "2025-03-01", "2024-03-01"), edit(list1, "2025-03-01", "2024-03-01"), edit(list2, "2025-03-01", "2024-03-01")), "changes-gap error none false"},
		"a Resource List older than the newest change": {olderList, ""},
		"an unlisted page":                             {nextPages, "list-paging error none false"},
		"pages that an index lists":                    {edit(list1, up, up+`<rs:ln rel="next" href="{base}/list-2.xml"/>`), ""},
		"a resource twice, with the same metadata":     {edit(list2, "</urlset>", entryA+"</urlset>"), "resource-repeated advice none true"},
		"a resource twice, with other metadata":        {edit(list2, "</urlset>", strings.Replace(entryA, "2025-02-01", "2025-02-02", 1)+"</urlset>"), "resource-conflict error none false"},
		"overlapping Change Lists":                     {both(edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<rs:md from="2025-02-01T12:00:00Z"/>`), edit(changes2, `from="2025-02-02T00:00:00Z"`, `from="2025-02-01T12:00:00Z"`)), "interval-overlap advice none true"},
		"overlapping notifications":                    {nextNotification(`from="2025-02-03T12:00:00Z" until="2025-02-05T00:00:00Z"`), "notification-overlap error must false"},
		"consecutive notifications":                    {nextNotification(`from="2025-02-04T00:00:00Z" until="2025-02-05T00:00:00Z"`), ""},
		"changes without datetime":                     {edit(changes2, ` datetime="2025-02-04T00:00:00Z"`, ""), "datetime-missing warning none true"},
		"an index without entries": {func(_ *testing.T, s *site) {
			s.add(dump, index+up+`<rs:md capability="resourcedump" at="2025-03-01T00:00:00Z"/></sitemapindex>`)
		}, "index-empty advice none true"},
		"a content type that no reader accepts":           {with(list2, func(f *file) { f.kind = "application/pdf" }), "content-type-unreadable error none false"},
		"a should":                                        {edit(list2, `<rs:ln rel="index" href="{base}/list.xml"/>`+"\n", ""), "link-index-missing advice should true"},
		"a must that does no harm":                        {edit(list1, "daily", "often"), "changefreq-value advice must false"},
		"an unknown word in the place of a specified one": {edit(list2, `"resourcelist"`, `"ResourceList"`), "capability-unknown warning must false"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for _, all := range []bool{false, true} {
				s := correct(t)
				test.plant(t, s)
				o := options()
				o.All = all
				r, _ := s.judge(t, o)
				var found []string
				for _, f := range r.Findings {
					found = append(found, fmt.Sprint(f.Rule, " ", f.Harm, " ", f.Force, " ", r.OK()))
				}
				if got := strings.Join(found, ", "); got != test.want {
					t.Errorf("all %t: found %q, want %q\n%s", all, got, test.want, describe(r))
				}
			}
		})
	}
}

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

// TestLaterChanges compares resources with their last entries, and finds what is wrong with these.
func TestLaterChanges(t *testing.T) {
	for _, all := range []bool{false, true} {
		s := correct(t)
		olderList(t, s)
		s.edit(t, changes2, "{sha256 /c}", "{sha256 /b}")
		s.files["/b"].status = http.StatusNotFound // changed before the list, not after it
		o := options()
		o.All = all
		r, counts := s.judge(t, o)
		if found := rulesOf(counts); !slices.Equal(found, []string{"resource-hash", "resource-unreachable"}) || !strings.HasSuffix(r.Findings[0].Document, changes2) && !strings.HasSuffix(r.Findings[1].Document, changes2) {
			t.Errorf("all %t: found %q\n%s", all, found, describe(r))
		}
	}
}

// TestLateWithoutTimes has changes that may be later than the Resource List.
func TestLateWithoutTimes(t *testing.T) {
	s := correct(t)
	olderList(t, s)
	s.edit(t, changes2, ` datetime="2025-02-03T00:00:00Z"`, "")
	s.edit(t, changes2, ` datetime="2025-02-04T00:00:00Z"`, "")
	r, counts := s.judge(t, nil)
	if found := rulesOf(counts); !slices.Equal(found, []string{"datetime-missing"}) {
		t.Errorf("found %q\n%s", found, describe(r))
	}
}
