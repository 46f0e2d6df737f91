package check

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// TestSyntaxRules holds that each rule of package rsxml is one of ours, and the reverse.
func TestSyntaxRules(t *testing.T) {
	files, err := filepath.Glob("../rsxml/*.go")
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`d\.(?:deviate|fail)\([\w.]+, ("([a-z0-9-]+)"|)`)
	found := make(map[string]bool)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			if m[2] != "" {
				found[m[2]] = true
			}
		}
	}
	for _, attr := range []string{"at", "from", "until", "entry-at", "entry-from", "entry-until", "entry-change", "entry-path", "entry-capability"} {
		found[attr+"-missing"] = true
	}
	delete(found, "entry-") // the beginning of those
	for id := range found {
		if ruleByID[id] == nil {
			t.Errorf("package rsxml has the rule %s, which is unknown here", id)
		}
	}
	for _, r := range syntaxRules {
		if !found[r.ID] {
			t.Errorf("package rsxml does not have the rule %s", r.ID)
		}
	}
}

// TestRules holds that rules are complete.
func TestRules(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Rules() {
		if seen[r.ID] {
			t.Errorf("%s is repeated", r.ID)
		}
		seen[r.ID] = true
		if r.Harm.order() < 0 || !strings.HasSuffix(r.Text, ".") || !strings.HasSuffix(r.Remedy, ".") || len(r.Sentences) == 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestDocumented holds that docs/check.md has each rule.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	harm := Harm("")
	for _, r := range Rules() {
		if r.Harm != harm {
			harm = r.Harm
			fmt.Fprintf(&want, "\n### %s\n\n| Rule | Force and section |\n|---|---|\n", map[Harm]string{Error: "Errors", Warning: "Warnings", Advice: "Advice"}[harm])
		}
		var sections []string
		for i, s := range r.Sentences {
			section := s.Section
			if i == 0 || s.Force != r.Sentences[i-1].Force {
				section = string(s.Force) + ": " + section
			}
			sections = append(sections, section)
		}
		fmt.Fprintf(&want, "| `%s` %s | %s |\n", r.ID, r.Text, strings.Join(sections, ", "))
	}
	if !strings.Contains(strings.ReplaceAll(string(text), "\r\n", "\n"), want.String()) {
		t.Errorf("docs/check.md does not have\n%s", want.String())
	}
}

// TestTracker: a tracker sees all entries of the resources that it tracks, and tracks at most max.
func TestTracker(t *testing.T) {
	const most, count = 100, 10_000
	tr := newTracker(most)
	for range 2 {
		for i := range count {
			if r := tr.of(fmt.Sprint(i)); r != nil {
				if r.later {
					r.listed = true
				}
				r.later = true
			}
			if len(tr.known) > most {
				t.Fatalf("%d resources are tracked", len(tr.known))
			}
		}
	}
	for _, r := range tr.known {
		if !r.listed {
			t.Error("a resource was forgotten and is tracked again")
		}
	}
	if len(tr.known) < most/8 {
		t.Errorf("%d resources are tracked", len(tr.known))
	}
}

// TestChoice chooses each item with the same probability.
func TestChoice(t *testing.T) {
	counts := make([]int, 20)
	for range 2000 {
		s := newSample[int](5)
		for i := range counts {
			s.add(fmt.Sprint(i), i)
			s.add(fmt.Sprint(i), i)
		}
		if got := s.all(); len(got) != 5 {
			t.Fatalf("chosen: %v", got)
		}
		for _, i := range s.all() {
			counts[i]++
		}
	}
	for i, n := range counts {
		if n < 300 || n > 700 { // 500 expected, standard deviation 19
			t.Errorf("item %d was chosen %d times of 2000", i, n)
		}
	}
}

// FuzzDocument reads documents, whatever they are. A document without findings of the syntax is
// one that the strict decoder accepts.
func FuzzDocument(f *testing.F) {
	names, _ := filepath.Glob("../testdata/*/*.xml")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	syntax := make(map[string]bool)
	for _, r := range syntaxRules {
		syntax[r.ID] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &checker{}
		if _, err := c.read("fuzz.xml", nil, bytes.NewReader(data), expectation{}, time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		broken := false
		for _, found := range c.list {
			broken = broken || syntax[found.Rule]
			if found.Message == "" || found.Section == "" {
				t.Errorf("%+v", found)
			}
		}
		if _, _, err := rsxml.Decode(bytes.NewReader(data)); (err != nil) != broken {
			t.Errorf("the strict decoder returns %v, the findings are %+v", err, c.list)
		}
	})
}

// FuzzZip reads packages, whatever they are.
func FuzzZip(f *testing.F) {
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Add(somePackage(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &checker{options: Options{All: true, MaxContent: 1 << 20}}
		if err := c.zip(t.Context(), "fuzz.zip", bytes.NewReader(data), int64(len(data)), "", "", nil); err != nil {
			t.Fatal(err)
		}
	})
}

func somePackage(f *testing.F) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"manifest.xml": `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="resourcedump-manifest" at="2025-03-01T00:00:00Z"/>
<url><loc>https://example.org/a</loc><rs:md path="/a" length="1" hash="md5:0cc175b9c0f1b6a831c399e269772661"/></url></urlset>`,
		"a": "a",
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	return b.Bytes()
}
