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

// pushConfig is what serve was told of the notifications that it is to send.
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

// ownHub is the path of serve's own hub, below the base URL.
const ownHub = "websub/"

// hasOwn reports whether serve has a hub of its own: unless something else was
// asked for, it has.
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
		// Not err, which quotes what may be a token.
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

// hubFlag adds a flag whose values name hubs. What is wrong with one is left for
// check to say: package flag would quote it, and a token with it.
func (p *pushConfig) hubFlag(flags *flag.FlagSet, name, usage string, add func(text string) error) {
	flags.Func(name, usage, func(text string) error {
		if err := add(text); err != nil && p.wrong == nil {
			p.wrong = usagef("--%s: %w", name, err)
		}
		return nil
	})
}

// check says what is wrong with p.
func (p *pushConfig) check() error {
	switch {
	case p.wrong != nil:
		return p.wrong
	case p.none && (p.own || len(p.foreign) > 0):
		return usagef("--hub none and another hub contradict each other; leave out one of them")
	case len(p.callbacks) > 0 && !p.hasOwn():
		return usagef("--allow-callbacks is for serve's own hub; add --hub own")
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
	p.hubFlag(flags, "hub", `The WebSub hub that tells others of changes at once: its address, own for one
that is part of this program, at websub/ below the base URL, or none. Give it
once for each of several. If a hub wants a token from those who publish, write
it as https://:TOKEN@hub.example.org/.
Default: own`, p.addHub)
	p.hubFlag(flags, "ping-hub", `The address of a WebSub hub that fetches what has changed rather than being
told, and that takes hub.mode=publish. Give it once for each of several.
Default: none`, p.addPingHub)
	p.minLease, p.retry, p.giveUp = span(5*time.Minute), span(time.Minute), span(3*day)
	flags.Var(&p.minLease, "hub-min-lease", `The shortest time for which one can subscribe to serve's own hub. Less than
5m is for tests and closed networks.
Default: 5m`)
	flags.Var(&p.retry, "hub-retry", `When serve's own hub tries again to deliver a notification that could not be
delivered. The time doubles with each failure.
Default: 1m`)
	flags.Var(&p.giveUp, "hub-give-up", `How long serve's own hub tries to deliver a notification before it goes on
with the next one.
Default: 3d`)
	flags.Var(&p.callbacks, "allow-callbacks", `Addresses in closed networks that may subscribe to serve's own hub, such as
10.1.2.0/24; public addresses may anyway. Give it once for each of several.
Default: none`)
	flags.BoolVar(&p.webSocket, "websocket", false, `Tell of changes by WebSockets as well, for web pages and other programs that
cannot be called back.`)
	flags.Func("websocket-origin", `A host whose web pages may open WebSockets, besides those of the site itself,
such as www.example.org or *.example.org; * is every host. Programs other than
browsers always may. Give it once for each of several.
Default: none`, p.addOrigin)
}
