package status

import (
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/harvesters"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// evil is what a stranger may choose as a name, an address or a message.
const evil = `<script>alert("1")</script>&'`

// TestPages: the pages state what the status has, and no value of a stranger becomes markup or
// the address of a script.
func TestPages(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		page func() ([]byte, error)
		want []string
	}{
		"status": {func() ([]byte, error) {
			return hostileStatus(now.Add(-3*time.Hour)).Page("example.org", "javascript:alert(1)", true, true)
		}, []string{
			"2 problems", "1 file has been missing since <time", "1,200 rows have been missing", "this command publishes the held deletions of all sets at once:", "if nothing comes back.",
			"They are confirmed", "The password is hidden", "3 notifications have been published.", "1,234 notifications have been published, of the changes up to <time",
			`<span class="badge failing">failing</span> <small>1 attempt, the first 3 hours ago:`, "<small>refused:", "These are 5 of 200.", "no name</bdi> at 1.2.3.4", "given up</small>",
			`<span class="soft">none yet</span>`, "the name was first used at 4.3.2.1", "3 hours ago; 3 since the index; answered 404", "behind by 8 minutes",
			`<span class="badge ok">ok</span> <small>in sync</small>`, "has read all changes", "and in the state.", `href="about:invalid`,
		}},
		"new status": {func() ([]byte, error) {
			return (&Status{Health: Health{Healthy: true}}).Page("example.org", "/source", false, false)
		}, []string{`<span class="badge ok">ok</span> There are no problems.`, "Harvesters are not recorded"}},
		"copy": {func() ([]byte, error) { return hostileCopy(now.Add(-3 * time.Hour)).Page() }, []string{
			"no longer lists 1 resource of the copy", "1,234</td><td>held", "3 resources were not copied by the last run; these are the first of them.", "These hosts have asked for a pause",
			`<span class="badge open">open</span> <small>since <time`, "; the lease ends <time", "next attempt ",
		}},
		"new copy": {func() ([]byte, error) { return (&CopyStatus{}).Page() }, []string{"0 problems", "Changes are found by polling"}},
	} {
		page, err := c.page()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		html := strings.Join(strings.Fields(string(page)), " ")
		for _, want := range c.want {
			if !strings.Contains(html, want) {
				t.Errorf("%s: the page lacks %s", name, want)
			}
		}
		for _, bad := range []string{"<script>alert", "javascript:"} {
			if strings.Contains(html, bad) {
				t.Errorf("%s: the page has %s", name, bad)
			}
		}
	}
}

// hostileStatus returns a status with everything that the page shows.
func hostileStatus(now time.Time) *Status {
	sub := func(f int, pending, given int64, addr, set string) Subscription {
		s := Subscription{Host: "h" + evil, Set: set, Capability: "changelist", Expires: now, Agent: "", Address: addr, Delivered: 3, Pending: pending, GivenUp: given, Failures: f, FailingSince: now, LastError: evil, Next: now}
		return s
	}
	last := sub(0, 0, 0, "", "")
	last.LastSuccess = now
	none := last
	none.LastSuccess, none.Delivered = time.Time{}, 0
	behind := 500.0
	zero := 0.0
	n := 7
	return &Status{
		Health: Health{Problems: []string{"one " + evil, "two"}},
		Set:    Set{Files: new(int64(1234)), Changed: now, Scan: &Scan{Ended: now, Seconds: 1.5, Created: 1}, Notes: []string{"note"}, Journal: &sqltable.Proof{}, Site: &sitemap.Status{Withheld: map[string]int{"why" + evil: 2}}, Held: &Held{Files: 1, Since: now, Unit: "file", Question: "Is the disk there?", Release: "resourcesync " + evil, Hidden: true}},
		Sets:   []Set{{Name: "a" + evil, Kind: "folder", Held: &Held{Files: 1200, Since: now, Until: now, Unit: "row", Question: "Q?", Release: "x"}}, {Name: "b", Kind: "x", Uncounted: true, Held: &Held{Files: 2, Since: now, Confirmed: true, Unit: "row", Question: "Q?"}}},
		Push:   &topic.Status{Topics: []topic.TopicStatus{{Topic: "https://example.org/t" + evil, Newest: 0, Error: evil}, {Topic: "https://example.org/u", Newest: 3, Hubs: []topic.HubStatus{{Hub: "https://hub/" + evil, Taken: 1, Behind: 2, Failures: 1, FailingSince: now, LastError: evil, Refused: 4, RefusedError: evil, Lost: 5}, {Hub: "b", Behind: 3}, {Hub: "c", Failures: 2, FailingSince: now, LastError: "e"}, {Hub: "d"}}}, {Topic: "v", Newest: 1234, Until: now}}},
		Hub:    &hub.Status{Subscriptions: 200, Waiting: 2, Failing: 1, OldestWaiting: now}, WebSockets: &n,
		Subscriptions: []Subscription{sub(1, 1, 0, "1.2.3.4", "set"+evil), sub(2, 1, 1, "", ""), sub(0, 5, 1, "1.2.3.4", "s"), last, none},
		Harvesters: []Harvester{
			{Harvester: harvesters.Harvester{Agent: "agent" + evil, Name: "name" + evil, Address: "1.2.3.4", NameFirstAt: "4.3.2.1", Last: now, Requests: 1234, Bytes: 5_000_000, Document: "changelist", Status: 404, Until: now, Parts: 3}, Behind: &behind},
			{Harvester: harvesters.Harvester{Address: "1.2.3.4", Last: now, Document: "resourcelist", Status: 200, Until: now}, Behind: &zero, InSync: true},
			{Harvester: harvesters.Harvester{Address: "1.2.3.4", Last: now, Document: "resourcelist", Status: 200, Until: now}, Behind: &zero},
			{Harvester: harvesters.Harvester{Address: "1.2.3.4", Last: now, Document: "resourcelist", Status: 200}},
		},
	}
}

// hostileCopy returns the status of a copy with everything that the page shows.
func hostileCopy(now time.Time) *CopyStatus {
	next := now.Add(4 * time.Hour)
	f := func(n int) (all []destination.Failure) {
		for range n {
			all = append(all, destination.Failure{URI: "https://example.org/" + evil, Error: evil, Next: now})
		}
		return all
	}
	c := &CopyStatus{Copy: Copy{Dir: "/srv/" + evil, Release: "resourcesync mirror " + evil, Status: destination.Status{Source: "https://example.org/" + evil, Ended: now, Next: next}}}
	c.Copy.Last = &destination.Report{Held: 1, Failed: 3, Packages: 3, Failures: f(2), Gone: []destination.GoneSet{{URI: "u" + evil, Resources: 1234, Held: true}, {URI: "v", Reason: evil}}, Pauses: []destination.Pause{{Host: "h" + evil, Until: now}}}
	c.Copy.Channels = []destination.ChannelStatus{{Capability: "changelist", By: "WebSub", Address: evil, Open: true, Since: now, Expires: next, Next: next, Received: 3, Last: now}, {Capability: "changelist", By: "WebSub", Address: evil, Open: true, Since: now}, {Capability: "x", Error: evil, Next: next}, {Capability: "x"}}
	return c
}
