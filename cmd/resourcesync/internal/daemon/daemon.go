// Package daemon publishes the sets of a site until it is told to stop, and replaces them at a reload.
package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/adapters/prometheus"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/accesslog"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/harvesters"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/operators"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/server"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// A daemon holds everything that outlives a configuration: the state, the connections, and
// the pages for operators.
type daemon struct {
	state  *state.State
	screen *terminal.Screen
	log    *slog.Logger
	stdout io.Writer

	sockets    *websocket.Server   // nil if there are none
	metrics    *prometheus.Metrics // nil without --status
	harvesters *harvesters.Log     // nil if they are not remembered
	// harvestersNote is the name of the harvesters in the state, which keeps them if keeps is set.
	harvestersNote string
	keeps          bool
	// callback receives what the hubs of copied Sources send; nil if they cannot reach it.
	callback *destination.Callback
	healthz  *operators.Health
	// certificate is the certificate of the site; nil for http.
	certificate *server.Certificate
	statusURL   string // "" if there is none

	refused atomic.Pointer[error] // why the last reload was refused; nil if it was not

	now  atomic.Pointer[publication]
	swap sync.RWMutex // held while now changes
}

// newDaemon returns a daemon that has opened nothing.
func newDaemon(c *site.Config, st *state.State, screen *terminal.Screen, log *slog.Logger) (*daemon, error) {
	p := &daemon{state: st, screen: screen, log: log}
	base, err := c.Base()
	if err != nil {
		return nil, err
	}
	if c.Push.WebSocket {
		if p.sockets, err = websocket.New(&websocket.Options{Origins: append(c.Push.Origins, base.Host), Logger: log}); err != nil {
			return nil, settings.Errorf("%w", err)
		}
	}
	if c.Status != "" { // operators have an address
		p.metrics = prometheus.New()
	}
	if c.TlsCert != "" {
		if p.certificate, err = server.NewCertificate(c.TlsCert, c.TlsKey); err != nil {
			return nil, err
		}
	}
	p.healthz = &operators.Health{Log: log, Check: func(ctx context.Context) error { return p.now.Load().health(ctx) }, Notes: func() []string { return p.now.Load().notes() }}
	return p, nil
}

// newCallback makes the callback of hubs. Processes that share a state have none: behind one
// address, a delivery could reach another process, which does not know the secret.
func (p *daemon) newCallback(c *site.Config) error {
	if p.state.Shared {
		return nil
	}
	base, err := c.Base()
	if err == nil {
		p.callback, err = destination.NewCallback(base.JoinPath(c.Prefix, site.CallbackPath).String())
	}
	return err
}

// Run publishes the sets of c until ctx is done. At SIGHUP, it publishes the
// configuration that load returns; without load, the signal ends the process.
func Run(ctx context.Context, c *site.Config, load func() (*site.Config, error), stdout, stderr io.Writer) error {
	// Otherwise Go ends the process when the reader of a log disappears.
	signal.Ignore(syscall.SIGPIPE)
	reloads := make(chan os.Signal, 1)
	if load != nil { // before anything that takes time: without this, the signal ends the process
		signal.Notify(reloads, syscall.SIGHUP)
		defer signal.Stop(reloads)
	}
	if err := c.Verify(); err != nil {
		return err
	}
	derived := c.BaseURL == ""
	site, err := listen(c)
	if err != nil {
		return err
	}
	defer site.Close()
	var atStatus net.Listener
	if c.Status != "" {
		if atStatus, err = operators.Listen(c.Status); err != nil {
			return err
		}
		defer atStatus.Close()
	}
	screen := terminal.New(stderr)
	log := terminal.NewLogger(screen, c.LogFormat)
	st, err := c.OpenState(ctx, log)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // stopped before it began
	case err != nil:
		return err
	}
	defer func() {
		if err := st.Close(); err != nil {
			log.Warn("state not closed", "error", err)
		}
	}()
	p, err := newDaemon(c, st, screen, log)
	if err != nil {
		return err
	}
	p.stdout = stdout
	if err := p.openHarvesters(ctx, c); err != nil {
		return state.Refuse(st.Place, err)
	}
	if !derived {
		if err := p.newCallback(c); err != nil {
			return err
		}
	}
	first, err := newPublication(ctx, p, c, nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	first.derived = derived
	p.now.Store(first)
	defer func() { p.now.Load().close() }()
	for _, m := range first.members {
		m.Log.Info("listening", "address", site.Addr().String(), "site", m.BaseURL, m.Content.From, "state", st.Place)
	}
	err = p.run(ctx, site, atStatus, reloads, load)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	p.saveHarvesters(last)
	return err
}

// closingTime is the maximum time for saving state at the end.
const closingTime = 5 * time.Second

// ServeHTTP serves the site with the current configuration.
func (p *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := p.enter()
	defer now.requests.Done()
	now.handler.ServeHTTP(w, r)
}

// enter returns the current publication, and counts a request to it.
func (p *daemon) enter() *publication {
	p.swap.RLock()
	defer p.swap.RUnlock()
	now := p.now.Load()
	now.requests.Add(1)
	return now
}

func (p *daemon) run(ctx context.Context, site, atStatus net.Listener, reloads <-chan os.Signal, load func() (*site.Config, error)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		<-ctx.Done()
		p.log.Info("stopping", "cause", context.Cause(ctx))
		return nil
	})
	first := p.now.Load()
	c := first.site
	web := p.newServer(c, site)
	web.Uploads = first.uploads()
	g.Go(func() error { return web.Run(ctx, p.log) })
	if p.certificate != nil {
		g.Go(func() error { p.certificate.Watch(ctx, p.log); return nil })
	}
	if atStatus != nil {
		var status *server.Server
		status, p.statusURL = operators.NewServer(atStatus, c.Status, p.log, operators.Handler(p.statusNow, p.collectors()...))
		g.Go(func() error { return status.Run(ctx, p.log) })
	}
	if p.sockets != nil {
		g.Go(func() error { return p.sockets.Run(ctx, p.state.Notifications) })
	}
	if p.keeps {
		g.Go(func() error { p.keepHarvesters(ctx); return nil })
	}
	g.Go(func() error { return p.runPublications(ctx, reloads, load) })
	return g.Wait()
}

// newServer returns the server of the site.
func (p *daemon) newServer(c *site.Config, listener net.Listener) *server.Server {
	handler := http.Handler(p)
	if c.AccessLog != "none" {
		handler = accesslog.Handler(p.stdout, c.AccessLog, p.log, handler)
	}
	return &server.Server{Listener: listener, Handler: server.ClientAddress(c.ClientHeader, handler), Certificate: p.certificate}
}

// listen opens the listener, and derives the base URL from it if none was given.
func listen(c *site.Config) (net.Listener, error) {
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, settings.Errorf("%w; give another address and port, as in --listen 127.0.0.1:8081", err)
	}
	if c.BaseURL != "" {
		return ln, nil
	}
	addr := ln.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		ln.Close()
		return nil, c.ErrAllAddresses(strconv.Itoa(addr.Port))
	}
	c.BaseURL = c.Scheme() + "://" + addr.String() + "/"
	return ln, nil
}
