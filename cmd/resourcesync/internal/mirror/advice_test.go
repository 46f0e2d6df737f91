package mirror

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
)

// TestCertificate: the error of a Source whose certificate has expired says whom to ask, and that a
// service tries again by itself.
func TestCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	_, err := http.Get(server.URL)
	for follow, again := range map[bool]string{false: "and run it again", true: "the next run tries again"} {
		c := Config{follow: follow}
		if got := c.noAnswer(err).Error(); !strings.Contains(got, "certificate signed by unknown authority); ask the operator of the Source to renew it") || !strings.HasSuffix(got, again) {
			t.Errorf("follow %v: %s", follow, got)
		}
	}
}

// TestMirrorAdvice: runs and audits that find problems say what to do.
func TestMirrorAdvice(t *testing.T) {
	after := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	waits := destination.GoneSet{URI: "https://example.org/cl.xml", Resources: 2, After: after}
	held := destination.GoneSet{URI: "https://example.org/cl.xml", Resources: 2, Held: true}
	unreadable := destination.GoneSet{URI: "https://example.org/cl.xml", Resources: 2, Reason: "its Capability List cannot be read: 500"}
	two := destination.Found{Count: 2}
	for name, test := range map[string]struct {
		report *destination.Report
		audit  *destination.AuditReport
		want   string
	}{
		"failed":                   {&destination.Report{Failed: 2}, nil, "2 resources could not be copied; run it again to retry"},
		"paused":                   {&destination.Report{Failed: 2, Pauses: []destination.Pause{{Host: "https://example.org:443", Until: after}}}, nil, "https://example.org:443 has asked for a pause (Retry-After), so run it again after 2 Jan 2026, 03:04:05 UTC"},
		"held":                     {&destination.Report{Held: 9}, nil, "no longer lists 9 resources of the copy, so their deletions are held; if that is intended, run it again with --max-delete 100%"},
		"a set waits":              {&destination.Report{Gone: []destination.GoneSet{waits}}, nil, "the Source no longer names the set https://example.org/cl.xml; its 2 resources stay in the copy until mirror has run again after 2 Jan 2026, 03:04:05 UTC"},
		"a set is held":            {&destination.Report{Held: 2, Gone: []destination.GoneSet{held}}, nil, "including all of the set https://example.org/cl.xml, so their deletions are held; if that is intended, run it again with --max-delete 100%"},
		"a set cannot be read":     {&destination.Report{Gone: []destination.GoneSet{unreadable}}, nil, "its 2 resources stay in the copy: its Capability List cannot be read: 500"},
		"audit, missing":           {nil, &destination.AuditReport{Missing: two}, "the copy differs from the Source; run mirror without --audit to update and repair it"},
		"audit, a set waits":       {nil, &destination.AuditReport{Extra: two, Gone: []destination.GoneSet{waits}}, "the copy differs from the Source; the Source no longer names the set https://example.org/cl.xml; its 2 resources stay in the copy until mirror has run again after 2 Jan 2026, 03:04:05 UTC"},
		"audit, a set is held":     {nil, &destination.AuditReport{Extra: two, Held: 2, Gone: []destination.GoneSet{held}}, "the copy differs from the Source; the deletions of 2 resources are held, including all of the set https://example.org/cl.xml; if they are intended, run mirror with --max-delete 100%"},
		"audit, held and damaged":  {nil, &destination.AuditReport{Extra: two, Held: 2, Damaged: two}, "the copy differs from the Source; run mirror without --audit to update and repair it; the deletions of 2 resources are held; if they are intended, run mirror with --max-delete 100%"},
		"audit, more than is held": {nil, &destination.AuditReport{Extra: destination.Found{Count: 3}, Held: 2}, "run mirror without --audit to update and repair it; the deletions of 2 resources are held"},
	} {
		t.Run(name, func(t *testing.T) {
			var c Config
			var err error
			if test.audit != nil {
				err = auditAdvice(test.audit)
			} else {
				err = c.result(test.report, nil, terminal.New(&bytes.Buffer{}), &bytes.Buffer{})
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
