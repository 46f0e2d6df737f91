package daemon

import (
	"bytes"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// The command of the summary can be pasted into a shell, for any URL.
func TestReadyCommand(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1:8080/", "https://example.org/it's/$(touch%20x)/&;/é/"} {
		u, err := url.Parse(base)
		must(t, err)
		source, err := rshttp.New(u.JoinPath("resourcesync/").String(), []rshttp.Set{{Provider: memory.New(nil)}}, nil)
		must(t, err)
		var b bytes.Buffer
		m := &Member{Set: &origin.Set{Documents: u.JoinPath("resourcesync/")}, Content: &origin.Content{Unit: "page"}}
		p := &publication{daemon: &daemon{stdout: &b}, source: source, site: &site.Config{BaseURL: u.String(), AccessLog: "none"}, members: []*Member{m}}
		p.announceReady(1)
		command := regexp.MustCompile(`(?m)^  Harvest  resourcesync (.*)$`).FindStringSubmatch(b.String())[1]
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+command).Output()
		must(t, err)
		if want := "mirror\n" + u.String() + "\ncopy\n"; string(out) != want {
			t.Errorf("got\n%swant\n%s", out, want)
		}
		if !strings.HasPrefix(b.String(), "Ready: 1 page is listed.\n") {
			t.Errorf("%s", &b)
		}
		b.Reset()
		if p.announceReady(-1); !strings.HasPrefix(b.String(), "Ready: the pages are listed.\n") {
			t.Errorf("a number that is unknown: %s", &b)
		}
	}
}
