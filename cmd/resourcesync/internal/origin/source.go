package origin

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/resourcesync-go/resourcesync/adapters/replica"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/requests"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A sourceConfig is the configuration of a set of the copies of another Source.
type sourceConfig struct {
	Common
	source string
	copy   string // the folder of the copies
	websub bool
	requests.Settings
	requests.CopyLimits
}

func (s *sourceConfig) Declare(c *settings.Catalog) {
	c.Add(
		settings.Setting{Name: "source", Value: settings.Text(&s.source), Argument: true, Need: "the URL of the Source to be copied", Example: "https://library.example.org/"},
		settings.Setting{Name: "copy", Value: settings.Text(&s.copy), Need: "the folder for the copies, which is for nothing else", Example: "/var/lib/resourcesync/library", Offer: completion.Folders,
			Text: `The folder for the copies and the state of copying. It is created if it does not exist, and must be for
				nothing else.`},
	)
	c.Add(settings.Setting{Name: "websub", Value: settings.Bool(&s.websub), Default: "true", Group: settings.Push,
		Text: `Receive notifications of the hubs of the Source, at "callback/" below the prefix. It needs
			--base-url, and a state that no other process shares. Disable it with --websub=false if hubs cannot
			reach --base-url: the Source is then followed by WebSocket if it has one.`})
	s.Settings.Declare(c)
	s.CopyLimits.Declare(c)
	c.Change(settings.Setting{Name: "rescan", Default: "15m",
		Text: `The interval at which the documents of the Source are read, even without notifications, and the lists are
			compared with the copy.`})
	c.Change(settings.Setting{Name: "ping-token",
		Text: `The token with which the Source, or others, report changes, by a POST to "ping" below the prefix.
			The Source is then read at once. Other users of this computer can see command lines: use
			--ping-token-file or the environment variable RESOURCESYNC_PING_TOKEN.`})
	c.Change(settings.Setting{Name: "moved",
		Text: `Continue the copy although the Source has a new URL. Give it once, after the Source
			has moved. The Source must list resources of the copy.`})
}

func (s *sourceConfig) Check(string) error {
	var f settings.Faults
	u, err := url.Parse(s.source)
	f.If(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https", "source", "give the URL of a Source, such as https://library.example.org/")
	if err := requests.CheckURL(s.source); err != nil {
		f.Add(settings.Fault("source", "%w", err))
	}
	f.Add(s.Settings.Check())
	return f.Err()
}

// ServesPath implements [pathServer].
func (s *sourceConfig) ServesPath() bool { return true }

func (s *sourceConfig) Question() string {
	return fmt.Sprintf("Does the Source %s list all of its resources?", settings.WithoutPassword(s.source))
}

func (s *sourceConfig) StateName() string { return "copies" }

func (s *sourceConfig) Identity(string) (scan.Identity, error) {
	return scan.Identity{Name: "the Source " + s.source}, nil
}

func (s *sourceConfig) Open(_ context.Context, m *Set) (*Content, error) {
	var callback *destination.Callback
	if s.websub {
		callback = m.Callback
	}
	origin, err := replica.New(s.source, m.BaseURL, s.copy, &replica.Options{
		Every:    s.Rescan,
		Callback: callback,
		Exclude:  m.isReserved,
		Destination: destination.Options{
			Allow: s.Addresses, Rate: s.Rate, Concurrency: s.Concurrency, IgnoreRobots: s.IgnoreRobots,
			MaxResource: s.MaxResource, MaxBytes: s.MaxSize, MaxState: s.MaxState,
			Moved: s.Moved, UserAgent: "resourcesync (+" + m.BaseURL + ")", Logger: m.Log,
		},
	})
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	return &Content{
		From:    slog.String("source", s.source),
		Unit:    "resource",
		Origin:  origin,
		Changed: origin.Changed,
		Handler: func(src *rshttp.Source) (http.Handler, error) { return src.Wrap(origin), nil },
		Disk:    s.copy,
		Close:   origin.Close,
	}, nil
}
