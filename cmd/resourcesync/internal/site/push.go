package site

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

type Push struct {
	Own       bool // asked for
	none      bool // asked for
	Foreign   []topic.RemoteHub
	minLease  time.Duration
	retry     time.Duration
	giveUp    time.Duration
	Callbacks []netip.Prefix
	WebSocket bool
	Origins   []string // hosts whose pages may open WebSockets
}

// CallbackPath is the path of the callback of hubs, below the prefix.
const CallbackPath = "callback/"

// HubPath is the path of the built-in hub, below the base URL.
const HubPath = "websub/"

// HasOwn reports whether the built-in hub runs, which is the default.
func (p *Push) HasOwn() bool { return p.Own || !p.none && len(p.Foreign) == 0 }

func (p *Push) addHub(text string) error {
	switch text {
	case "own":
		p.Own = true
		return nil
	case "none":
		p.none = true
		return nil
	}
	u, err := parseHub(text)
	if err != nil {
		return err
	}
	token, _ := u.User.Password()
	if u.User.Username() != "" {
		return errors.New("leave out user names; write a token after a colon, as in https://:TOKEN@hub.example.org/")
	}
	u.User = nil
	return p.addForeign(topic.RemoteHub{URI: u.String(), Token: token})
}

// addHubs adds the hubs in the lines of a file.
func (p *Push) addHubs(lines string) error {
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := p.addHub(line); err != nil {
			return err
		}
	}
	return nil
}

func (p *Push) addPingHub(text string) error {
	u, err := parseHub(text)
	if err != nil {
		return err
	}
	if u.User != nil {
		return errors.New("leave out user names")
	}
	return p.addForeign(topic.RemoteHub{URI: u.String(), Ping: true})
}

func (p *Push) addForeign(h topic.RemoteHub) error {
	if slices.ContainsFunc(p.Foreign, func(other topic.RemoteHub) bool { return other.URI == h.URI }) {
		return errors.New("this hub is given twice")
	}
	p.Foreign = append(p.Foreign, h)
	return nil
}

func parseHub(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		// err could quote a token.
		return nil, errors.New("give the whole address of a hub, such as https://hub.example.org/, or own or none")
	}
	return u, nil
}

func (p *Push) check() error {
	var f settings.Faults
	f.If(p.none && (p.Own || len(p.Foreign) > 0), "hub", "none and another hub contradict each other; leave out one of them")
	f.If(len(p.Callbacks) > 0 && !p.HasOwn(), "allow-callbacks", "is for the built-in hub; add --hub own")
	f.If(len(p.Origins) > 0 && !p.WebSocket, "websocket-origin", "is for WebSockets; add --websocket")
	f.If(slices.ContainsFunc(p.Origins, isNoOrigin), "websocket-origin", "give the host of a page, such as www.example.org, *.example.org or *")
	f.If(p.minLease < time.Second || p.minLease%time.Second != 0 || p.minLease > 10*settings.Day, "hub-min-lease", "give whole seconds, such as 5m or 10s, up to 10d")
	f.If(p.retry < time.Millisecond, "hub-retry", "give a time such as 10s or 1m")
	f.If(p.giveUp < p.retry, "hub-give-up", "give a time longer than --hub-retry, such as 12h or 3d")
	return f.Err()
}

// isNoOrigin reports whether a text cannot be the pattern of a host.
func isNoOrigin(text string) bool {
	_, err := path.Match(text, "")
	return err != nil || text == "" || strings.ContainsAny(text, "/ ")
}

func (p *Push) declare(c *settings.Catalog) {
	c.Add(settings.Setting{Name: "hub", Value: settings.Each(p.addHub), Without: "own", Show: settings.WithoutPassword, Offer: completion.Values{Words: []string{"own", "none"}},
		Text: `The WebSub hub that notifies subscribers of changes: its URL, own for the built-in hub, at websub/
			below the base URL, or none. If a hub requires a token from publishers, write
			https://:TOKEN@hub.example.org/.`})
	c.AddFile("hub", settings.Push, p.addHubs)
	c.Add(
		settings.Setting{Name: "ping-hub", Value: settings.Each(p.addPingHub), Group: settings.Push, Show: settings.WithoutPassword,
			Text: `The URL of a WebSub hub that accepts hub.mode=publish and then fetches the notification itself.`},
		settings.Setting{Name: "hub-min-lease", Value: settings.Span(&p.minLease), Default: "5m", Group: settings.Push,
			Text: `The shortest lease of a subscription to the built-in hub. Less than 5m is for tests and closed
				networks.`},
		settings.Setting{Name: "hub-retry", Value: settings.Span(&p.retry), Default: "1m", Group: settings.Push,
			Text: "The delay before the built-in hub retries a failed delivery. It doubles with each failure."},
		settings.Setting{Name: "hub-give-up", Value: settings.Span(&p.giveUp), Default: "3d", Group: settings.Push,
			Text: `How long the built-in hub retries a notification before it continues with the next one. If a
				subscriber refuses a notification for an hour (most 4xx statuses) but accepts the next one, the
				hub continues at once.`},
		settings.Setting{Name: "allow-callbacks", Value: settings.Prefixes(&p.Callbacks), Group: settings.Push,
			Text: `Private addresses that may subscribe to the built-in hub, such as 10.1.2.0/24. Public addresses
				always may.`},
		settings.Setting{Name: "websocket", Value: settings.Bool(&p.WebSocket), Group: settings.Push, Restart: true,
			Text: `Send notifications by WebSocket as well, for web pages and other programs without a callback URL.`},
		settings.Setting{Name: "websocket-origin", Value: settings.List(&p.Origins), Group: settings.Push, Restart: true,
			Text: `A host whose web pages may open WebSockets, besides those of the site, such as www.example.org or
				*.example.org; * is every host. Programs other than browsers always may.`},
	)
}

// OwnHubOptions returns the URI and the options of the built-in hub, or nil if there is
// none.
func (c *Config) OwnHubOptions() (uri string, o *hub.Options) {
	if !c.Push.HasOwn() {
		return "", nil
	}
	return c.BaseURL + HubPath, &hub.Options{
		AllowCallbacks: c.Push.Callbacks,
		MinLease:       c.Push.minLease,
		Retry:          c.Push.retry,
		GiveUp:         c.Push.giveUp,
	}
}

// Hubs returns the URIs of the hubs of a set.
func (c *Config) Hubs(set rshttp.Set) (uris []string) {
	if uri, _ := c.OwnHubOptions(); uri != "" {
		uris = append(uris, uri)
	}
	for _, h := range set.RemoteHubs {
		uris = append(uris, h.URI)
	}
	return uris
}
