package main

import (
	"context"
	"errors"
	"flag"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

type pushConfig struct {
	own       bool // asked for
	none      bool // asked for
	foreign   []topic.RemoteHub
	minLease  span
	retry     span
	giveUp    span
	callbacks addresses
	webSocket bool
	origins   []string // hosts whose pages may open WebSockets
	wrong     error    // in the URL of a hub
}

// ownHub is the path of the built-in hub, below the base URL.
const ownHub = "websub/"

// hasOwn reports whether the built-in hub runs, which is the default.
func (p *pushConfig) hasOwn() bool { return p.own || !p.none && len(p.foreign) == 0 }

func (p *pushConfig) addHub(text string) error {
	switch text {
	case "own":
		p.own = true
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
		return errors.New("leave out users; a token stands behind a colon, as in https://:TOKEN@hub.example.org/")
	}
	u.User = nil
	return p.addForeign(topic.RemoteHub{URI: u.String(), Token: token})
}

// addHubs adds the hubs in the lines of a file.
func (p *pushConfig) addHubs(lines string) error {
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

func (p *pushConfig) addPingHub(text string) error {
	u, err := parseHub(text)
	if err != nil {
		return err
	}
	if u.User != nil {
		return errors.New("leave out users")
	}
	return p.addForeign(topic.RemoteHub{URI: u.String(), Ping: true})
}

func (p *pushConfig) addForeign(h topic.RemoteHub) error {
	if slices.ContainsFunc(p.foreign, func(other topic.RemoteHub) bool { return other.URI == h.URI }) {
		return errors.New("this hub is given twice")
	}
	p.foreign = append(p.foreign, h)
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

func (p *pushConfig) addOrigin(text string) error {
	if _, err := path.Match(text, ""); err != nil || text == "" || strings.ContainsAny(text, "/ ") {
		return errors.New("give the host of a page, such as www.example.org, *.example.org or *")
	}
	p.origins = append(p.origins, text)
	return nil
}

// hubFlag adds a flag whose values are hubs. Errors are kept for check, because package
// flag would quote the value, and a token in it.
func (p *pushConfig) hubFlag(flags *flag.FlagSet, name string, add func(text string) error) {
	flags.Var(repeated(func(text string) error {
		if err := add(text); err != nil && p.wrong == nil {
			p.wrong = usagef("--%s: %w", name, err)
		}
		return nil
	}), name, "")
}

func (p *pushConfig) check() error {
	switch {
	case p.wrong != nil:
		return p.wrong
	case p.none && (p.own || len(p.foreign) > 0):
		return usagef("--hub none and another hub contradict each other; leave out one of them")
	case len(p.callbacks) > 0 && !p.hasOwn():
		return usagef("--allow-callbacks is for the built-in hub; add --hub own")
	case len(p.origins) > 0 && !p.webSocket:
		return usagef("--websocket-origin is for WebSockets; add --websocket")
	case p.minLease < span(time.Second) || time.Duration(p.minLease)%time.Second != 0 || p.minLease > span(10*day):
		return usagef("--hub-min-lease %v: give whole seconds, such as 5m or 10s, up to 10d", &p.minLease)
	case p.retry < span(time.Millisecond):
		return usagef("--hub-retry %v: give a time such as 10s or 1m", &p.retry)
	case p.giveUp < p.retry:
		return usagef("--hub-give-up %v: give a time longer than --hub-retry, such as 12h or 3d", &p.giveUp)
	}
	return nil
}

func (p *pushConfig) flags(flags *flag.FlagSet) {
	p.minLease, p.retry, p.giveUp = span(5*time.Minute), span(time.Minute), span(3*day)
	p.hubFlag(flags, "hub", p.addHub)
	flags.Var(&secretFile{"hub", p.addHubs}, "hub"+fileSuffix, "")
	p.hubFlag(flags, "ping-hub", p.addPingHub)
	flags.Var(&p.minLease, "hub-min-lease", "")
	flags.Var(&p.retry, "hub-retry", "")
	flags.Var(&p.giveUp, "hub-give-up", "")
	flags.Var(repeated(p.callbacks.add), "allow-callbacks", "")
	flags.BoolVar(&p.webSocket, "websocket", false, "")
	flags.Var(repeated(p.addOrigin), "websocket-origin", "")
}

// ownHubOptions returns the URI and the options of the built-in hub, or nil if there is
// none.
func (c *siteConfig) ownHubOptions() (uri string, o *hub.Options) {
	if !c.push.hasOwn() {
		return "", nil
	}
	return c.baseURL + ownHub, &hub.Options{
		AllowCallbacks: c.push.callbacks,
		MinLease:       time.Duration(c.push.minLease),
		Retry:          time.Duration(c.push.retry),
		GiveUp:         time.Duration(c.push.giveUp),
	}
}

// leaveTopics ends the subscriptions to topics that the site had at another base URL, and
// notifies the subscribers. Those of removed sets end with their leases: what happened
// before the removal may still have to be delivered, and the set may come back.
func (p *publication) leaveTopics(ctx context.Context) error {
	var left []string
	for sub, err := range p.source.Hub().Subscriptions(ctx) {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(sub.Topic, p.documents.String()) && !slices.Contains(left, sub.Topic) {
			left = append(left, sub.Topic)
		}
	}
	return p.source.Hub().Withdraw(ctx, "the site has moved: subscribe to the topics that it has now", left...)
}
