// Package tour tests the examples: it runs them, and sends the requests in the package
// comments of their main.go.
package tour

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// beMain in the environment turns a test binary into the program that it tests.
const beMain = "RESOURCESYNC_TEST_MAIN"

// Main is the TestMain of an example whose function main is main.
func Main(m *testing.M, main func()) {
	if os.Getenv(beMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A Site is an example that runs in a process of its own.
type Site struct {
	URL string // without a trailing slash

	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
}

// Start runs the example until t ends.
func Start(t *testing.T) *Site {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &Site{t: t, cmd: exec.Command(program, "-listen", "127.0.0.1:0")}
	s.cmd.Env = append(os.Environ(), beMain+"=1")
	s.cmd.Stdout = &s.stdout
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	s.URL = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	if s.URL == "" {
		t.Fatalf("printed %q, %v", line, err)
	}
	return s
}

// Stop ends the example and returns what it has written to its standard output.
func (s *Site) Stop() string {
	s.cmd.Process.Kill()
	s.cmd.Wait()
	return s.stdout.String()
}

// Do sends a request to an absolute URL, or to a path of the site.
func (s *Site) Do(method, url, body string) (*http.Response, string) {
	s.t.Helper()
	if strings.HasPrefix(url, "/") {
		url = s.URL + url
	}
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(answer)
}

// curl matches the curl lines of a comment: method, body, whether it is a HEAD request,
// path.
var curl = regexp.MustCompile(`(?m)^//\tcurl(?: -X (\w+))?(?: -d '([^']*)')?( -I)? +http://127\.0\.0\.1:8080(\S+)$`)

// Take sends the requests in the comment of main.go and checks the results. kept is the
// article that they create and update, gone the one that they create and delete.
func (s *Site) Take(kept, gone string) {
	t := s.t
	t.Helper()
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := curl.FindAllStringSubmatch(string(text), -1)
	if n := bytes.Count(text, []byte("//\tcurl")); n != len(lines) || n != 8 {
		t.Fatalf("%d curl lines, %d of them understood", n, len(lines))
	}
	for _, line := range lines {
		method, body, head, path := line[1], line[2], line[3], line[4]
		switch {
		case head != "":
			method = http.MethodHead
		case method == "":
			method = http.MethodGet
		}
		if res, answer := s.Do(method, path, body); res.StatusCode/100 != 2 {
			t.Errorf("%s: %s %s", line[0], res.Status, answer)
		}
	}
	lists := s.Follow()
	s.WantListed(lists[0], kept)
	s.WantChanges(lists[1], "created "+kept, "updated "+kept, "created "+gone, "deleted "+gone)
	s.wantLinks(map[string]bool{
		kept: true, gone: false, "/": false, "/articles": false,
		"/.well-known/resourcesync": false, "/resourcesync/resourcelist.xml": false, "/resourcesync/none.xml": false,
	})
}

var loc = regexp.MustCompile(`<loc>(.*)</loc>`)

// Follow returns the URLs of the Resource List and the Change List, found from the
// well-known URI.
func (s *Site) Follow() []string {
	s.t.Helper()
	_, description := s.Do("GET", "/.well-known/resourcesync", "")
	_, capabilities := s.Do("GET", loc.FindStringSubmatch(description)[1], "")
	var lists []string
	for _, found := range loc.FindAllStringSubmatch(capabilities, -1) {
		lists = append(lists, found[1])
	}
	if len(lists) != 2 {
		s.t.Fatalf("lists: %q", lists)
	}
	return lists
}

// WantListed checks that the Resource List at url names exactly these paths, and that
// they can be requested.
func (s *Site) WantListed(url string, paths ...string) {
	s.t.Helper()
	_, list := s.Do("GET", url, "")
	var listed []string
	for _, found := range regexp.MustCompile(`<loc>(.*)</loc>\n<lastmod>.*\n<rs:md hash="sha-256:\w{64}" length="(\d+)" type="(.*)"`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, strings.TrimPrefix(found[1], s.URL))
		res, _ := s.Do("HEAD", found[1], "")
		if res.StatusCode != 200 || res.Header.Get("Content-Length") != found[2] || !strings.HasPrefix(res.Header.Get("Content-Type"), found[3]) {
			s.t.Errorf("%q: %s %v", found, res.Status, res.Header)
		}
	}
	if !slices.Equal(listed, paths) {
		s.t.Errorf("listed: %q, want %q", listed, paths)
	}
}

// WantChanges checks that the Change List at url has exactly these changes of paths.
func (s *Site) WantChanges(url string, changes ...string) {
	s.t.Helper()
	_, list := s.Do("GET", url, "")
	var listed []string
	for _, found := range regexp.MustCompile(`<loc>(.*)</loc>\n(?:<lastmod>.*\n)?<rs:md change="(\w+)"`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, found[2]+" "+strings.TrimPrefix(found[1], s.URL))
	}
	if !slices.Equal(listed, changes) {
		s.t.Errorf("changes: %q, want %q", listed, changes)
	}
}

// wantLinks checks which paths have a Link header with the Capability List.
func (s *Site) wantLinks(linked map[string]bool) {
	s.t.Helper()
	for path, want := range linked {
		res, _ := s.Do("HEAD", path, "")
		got := res.Header.Get("Link")
		if (got == "<"+s.URL+`/resourcesync/capabilitylist.xml>; rel="resourcesync"`) != want || !want && got != "" {
			s.t.Errorf("%s: Link %q, wanted: %t", path, got, want)
		}
	}
}
