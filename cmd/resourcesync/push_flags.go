package main

import (
	"errors"
	"flag"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
)

// pushConfig holds the flags about notifications.
type pushConfig struct {
	own       bool // asked for
	none      bool // asked for
	foreign   []topic.Hub
	minLease  span
	retry     span
	giveUp    span
	callbacks addresses
	webSocket bool
	origins   []string // hosts whose pages may open WebSockets
	wrong     error    // with what names a hub
}

// ownHub is the path of the built-in hub, below the base URL.
const ownHub = "websub/"

// hasOwn reports whether the built-in hub runs, which is the default.
func (p *pushConfig) hasOwn() bool { return p.own || !p.none && len(p.foreign) == 0 }

// addHub adds what --hub names.
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
	return p.addForeign(topic.Hub{URI: u.String(), Token: token})
}

// addPingHub adds what --ping-hub names.
func (p *pushConfig) addPingHub(text string) error {
	u, err := parseHub(text)
	if err != nil {
		return err
	}
	if u.User != nil {
		return errors.New("leave out users")
	}
	return p.addForeign(topic.Hub{URI: u.String(), Ping: true})
}

func (p *pushConfig) addForeign(h topic.Hub) error {
	if slices.ContainsFunc(p.foreign, func(other topic.Hub) bool { return other.URI == h.URI }) {
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

// addOrigin adds a host of --websocket-origin.
func (p *pushConfig) addOrigin(text string) error {
	if _, err := path.Match(text, ""); err != nil || text == "" || strings.ContainsAny(text, "/ ") {
		return errors.New("give the host of a page, such as www.example.org, *.example.org or *")
	}
	p.origins = append(p.origins, text)
	return nil
}

// addresses is a flag.Value: ranges of addresses.
type addresses []netip.Prefix

func (p *addresses) Set(text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, addrErr := netip.ParseAddr(text)
		if addrErr != nil || addr.Zone() != "" {
			return errors.New("give a range of addresses, such as 10.1.2.0/24 or fd12::/48")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	*p = append(*p, prefix.Masked())
	return nil
}

func (p *addresses) String() string { return "" }

// hubFlag adds a flag whose values are hubs. Errors are kept for check, because package
// flag would quote the value, and a token in it.
func (p *pushConfig) hubFlag(flags *flag.FlagSet, name, usage string, add func(text string) error) {
	flags.Func(name, usage, func(text string) error {
		if err := add(text); err != nil && p.wrong == nil {
			p.wrong = usagef("--%s: %w", name, err)
		}
		return nil
	})
}

// check returns an error for the first wrong flag.
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

// pushFlags adds the flags that set p.
func pushFlags(flags *flag.FlagSet, p *pushConfig) {
	p.hubFlag(flags, "hub", `The WebSub hub that notifies subscribers of changes: its URL, own for the
built-in hub, at websub/ below the base URL, or none. May be repeated. If a hub
requires a token from publishers, write https://:TOKEN@hub.example.org/.
Default: own`, p.addHub)
	p.hubFlag(flags, "ping-hub", `The URL of a WebSub hub that accepts hub.mode=publish and then fetches the
notification itself. May be repeated.
Default: none`, p.addPingHub)
	p.minLease, p.retry, p.giveUp = span(5*time.Minute), span(time.Minute), span(3*day)
	flags.Var(&p.minLease, "hub-min-lease", `The shortest lease of a subscription to the built-in hub. Less than 5m is for
tests and closed networks.
Default: 5m`)
	flags.Var(&p.retry, "hub-retry", `The delay before the built-in hub retries a failed delivery. It doubles with each
failure.
Default: 1m`)
	flags.Var(&p.giveUp, "hub-give-up", `How long the built-in hub retries a notification before it continues with the
next one.
Default: 3d`)
	flags.Var(&p.callbacks, "allow-callbacks", `Private addresses that may subscribe to the built-in hub, such as 10.1.2.0/24.
Public addresses always may. May be repeated.
Default: none`)
	flags.BoolVar(&p.webSocket, "websocket", false, `Send notifications by WebSocket as well, for web pages and other programs without
a callback URL.`)
	flags.Func("websocket-origin", `A host whose web pages may open WebSockets, besides those of the site, such as
www.example.org or *.example.org; * is every host. Programs other than browsers
always may. May be repeated.
Default: none`, p.addOrigin)
}
