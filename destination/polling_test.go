package destination_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestPolling: Follow logs that no channel pushes the changes of a set, and whether a Callback
// would help.
func TestPolling(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		source   *rshttp.Options
		callback bool
		want     string
	}{
		"nothing":                {&rshttp.Options{}, true, `polling sets without a channel" sets=1 every=1h0m0s unusedHub=false`},
		"hub without a callback": {pushOptions(t, true, false), false, `polling sets without a channel" sets=1 every=1h0m0s unusedHub=true`},
		"hub":                    {pushOptions(t, true, false), true, "following a channel"},
		"WebSocket":              {pushOptions(t, false, true), false, "following a channel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines safeBuffer
			src := newSource(t, test.source)
			m := openMirror(t, src.URL, t.TempDir(), &destination.Options{
				Allow: loopback, Logger: slog.New(slog.NewTextHandler(&lines, nil)),
			})
			o := destination.FollowOptions{Every: time.Hour}
			if test.callback {
				o.Callback = newCallback(t, nil)
			}
			stop := m.follow(t, o)
			lines.await(t, test.want)
			stop()
			if polled := strings.Contains(lines.String(), "polling"); polled != strings.Contains(test.want, "polling") {
				t.Errorf("%s", &lines)
			}
		})
	}
}
