package tour

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/subscriber"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// Run is the function run of an example with a table: it serves the papers until ctx ends.
type Run func(ctx context.Context, ln net.Listener, own *hub.Options) error

// A tableSite is an example with a table while it runs in this process.
type tableSite struct {
	t   *testing.T
	url string // without a slash at its end
}

// start runs the example until the test ends or stop is called.
func (run Run) start(t *testing.T, address string) (s *tableSite, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, ln, &hub.Options{AllowCallbacks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ln.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	t.Cleanup(stop)
	return &tableSite{t, "http://" + ln.Addr().String()}, stop
}

func (s *tableSite) do(method, path, body string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl does
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

// get gets what must be there.
func (s *tableSite) get(path string) string {
	s.t.Helper()
	res, answer := s.do("GET", path, "")
	if res.StatusCode != 200 {
		s.t.Fatalf("GET %s: %s %s", path, res.Status, answer)
	}
	return answer
}

var tableCurl = regexp.MustCompile(`(?m)^//\tcurl(?: -X (\w+))?(?: -d '([^']*)')? +http://127\.0\.0\.1:8080(\S+)$`)

// Take does what the comment at the top of main.go says, and follows the changes into the
// lists, the dump and a subscriber, also over a restart.
func (run Run) Take(t *testing.T) {
	s, stop := run.start(t, "127.0.0.1:0")

	capabilities := s.get("/resourcesync/capabilitylist.xml")
	for _, capability := range []string{"resourcelist", "changelist", "resourcedump", "change-notification", "framework-notification"} {
		if !strings.Contains(capabilities, `capability="`+capability+`"`) {
			t.Errorf("no %s:\n%s", capability, capabilities)
		}
	}
	topic := s.url + "/resourcesync/change/"
	hubURI := regexp.MustCompile(`<loc>` + topic + `</loc>\s*<rs:md .*\s*<rs:ln rel="hub" href="(.*)"/>`).FindStringSubmatch(capabilities)
	if hubURI == nil {
		t.Fatalf("no hub:\n%s", capabilities)
	}
	d := subscriber.New(t, "a secret")
	d.Subscribe(hubURI[1], topic)

	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := tableCurl.FindAllStringSubmatch(string(text), -1)
	if n := bytes.Count(text, []byte("//\tcurl")); n != len(lines) || n != 10 {
		t.Fatalf("%d curl lines, %d of them understood", n, len(lines))
	}
	for _, line := range lines {
		method, body := line[1], strings.ReplaceAll(line[2], "http://127.0.0.1:8080", s.url)
		switch {
		case method == "" && body == "":
			method = "GET"
		case method == "":
			method = "POST"
		}
		if res, answer := s.do(method, line[3], body); res.StatusCode/100 != 2 {
			t.Errorf("%s: %s %s", line[0], res.Status, answer)
		}
	}

	want := []string{"created hello", "updated hello", "created draft", "deleted draft"}
	var delivered []string
	await := func() {
		t.Helper()
		d.Await("the changes", 30*time.Second, func(taken []*subscriber.Notification) bool {
			delivered = nil
			for _, n := range taken {
				for _, e := range n.Entries {
					delivered = append(delivered, string(e.Metadata.Change)+" "+strings.TrimPrefix(e.Loc, s.url+"/papers/"))
				}
			}
			return len(delivered) >= len(want)
		})
	}
	await()
	list := s.get("/resourcesync/changelist.xml")
	var listed []string
	for _, found := range regexp.MustCompile(`<loc>.*/papers/(.*)</loc>\n<lastmod>.*\n<rs:md change="(\w+)"`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, found[2]+" "+found[1])
	}
	if !slices.Equal(listed, want) || !slices.Equal(delivered, want) {
		t.Errorf("listed %q, delivered %q, want %q", listed, delivered, want)
	}
	if list := s.get("/resourcesync/resourcelist.xml"); strings.Count(list, "<url>") != 1 || !strings.Contains(list, s.url+"/papers/hello<") {
		t.Errorf("the Resource List:\n%s", list)
	}
	if res, _ := s.do("HEAD", "/papers/hello", ""); !strings.Contains(res.Header.Get("Link"), "/resourcesync/capabilitylist.xml") {
		t.Errorf("Link: %q", res.Header["Link"])
	}
	s.wantDump("hello", "Hello, again.")

	// The journal, the subscription and its progress outlast a restart.
	stop()
	s, _ = run.start(t, strings.TrimPrefix(s.url, "http://"))
	if res, answer := s.do("PUT", "/papers/late", "Late."); res.StatusCode != http.StatusNoContent {
		t.Errorf("PUT: %s %s", res.Status, answer)
	}
	want = append(want, "created late")
	await()
	if !slices.Equal(delivered, want) {
		t.Errorf("after a restart: delivered %q, want %q", delivered, want)
	}
}

// wantDump checks that the Resource Dump has one package with this paper alone.
func (s *tableSite) wantDump(name, content string) {
	s.t.Helper()
	found := regexp.MustCompile(`<loc>`+s.url+`(.*\.zip)</loc>`).FindAllStringSubmatch(s.get("/resourcesync/resourcedump.xml"), -1)
	if len(found) != 1 {
		s.t.Fatalf("packages: %q", found)
	}
	archive := s.get(found[0][1])
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		s.t.Fatal(err)
	}
	var papers int
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			s.t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil {
			s.t.Errorf("%s: %v", f.Name, err)
		}
		switch {
		case f.Name == "manifest.xml":
		case strings.Contains(f.Name, name) && string(got) == content:
			papers++
		default:
			s.t.Errorf("%s: %q", f.Name, got)
		}
	}
	if papers != 1 {
		s.t.Errorf("%d papers in the dump", papers)
	}
}

// Refuse checks that what the application refuses is not published.
func (run Run) Refuse(t *testing.T) {
	s, _ := run.start(t, "127.0.0.1:0")
	for _, test := range []struct {
		method, name, body string
		status             int
	}{
		{"PUT", "large", strings.Repeat("x", 1<<20+1), http.StatusRequestEntityTooLarge},
		{"GET", "large", "", http.StatusNotFound},
		{"DELETE", "large", "", http.StatusNoContent},
	} {
		if res, _ := s.do(test.method, "/papers/"+test.name, test.body); res.StatusCode != test.status {
			t.Errorf("%s %s: %s, want %d", test.method, test.name, res.Status, test.status)
		}
	}
	if list := s.get("/resourcesync/changelist.xml"); strings.Contains(list, "<url>") {
		t.Errorf("the Change List:\n%s", list)
	}
}
