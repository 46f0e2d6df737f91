package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// A config is the command line of serve or proxy.
type config interface {
	// common returns what both have. Its base URL is set before the other methods
	// are called.
	common() *serveConfig

	// setName returns the name of the set in a state that is in a file.
	setName() string

	// stateFile returns the path of that file, absolute and free of symbolic links.
	// The file need not exist; the folder that it is in does.
	stateFile() (string, error)

	// checkOwner returns an error if the state in a file belongs to another folder or
	// website, and records the owner otherwise.
	checkOwner(ctx context.Context, set *sqlstore.Set) error

	// publication assembles what is published. The first scan has not begun.
	publication(ctx context.Context, st *state, screen *screen, log *slog.Logger) (*publication, error)
}

// publish publishes a folder or a website until ctx is done.
func publish(ctx context.Context, what config, stdout, stderr io.Writer) error {
	c := what.common()
	site, err := listen(c)
	if err != nil {
		return err
	}
	defer site.Close()
	var operators net.Listener
	if c.status != "" {
		if operators, err = net.Listen("tcp", c.status); err != nil {
			return usagef("--status: %w; give an address and port of this computer, as in --status 127.0.0.1:9090", err)
		}
		defer operators.Close()
	}
	screen := newScreen(stderr)
	log := newLogger(screen, c.logFormat)
	st, err := openState(ctx, what, log)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // stopped before it began
	case err != nil:
		return err
	}
	defer func() {
		if err := st.close(); err != nil {
			log.Warn("state not closed", "error", err)
		}
	}()
	p, err := what.publication(ctx, st, screen, log)
	if err != nil {
		return err
	}
	defer p.close()
	log.Info("listening", "address", site.Addr().String(), "site", c.baseURL, p.from, "state", st.place)
	return p.run(ctx, c, site, operators, stdout)
}

func (p *publication) run(ctx context.Context, c *serveConfig, site, operators net.Listener, stdout io.Writer) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		<-ctx.Done()
		p.log.Info("stopping", "cause", context.Cause(ctx))
		return nil
	})
	front := &server{listener: site, handler: clientAddress(c.client, p.handler), certificate: p.certificate, uploads: p.uploads}
	g.Go(func() error { return front.run(ctx, p.log) })
	if operators != nil {
		p.log.Info("status for operators", "url", "http://"+operators.Addr().String()+"/")
		status := &server{listener: operators, handler: checkHost(c.status, http.HandlerFunc(p.serveStatus))}
		g.Go(func() error { return status.run(ctx, p.log) })
	}
	g.Go(func() error { return p.source.Run(ctx) })
	if p.source.Hub() != nil && !p.shared { // otherwise other processes may have topics that this one does not know
		g.Go(func() error {
			if err := p.leaveTopics(ctx); err != nil && ctx.Err() == nil {
				p.log.Warn("subscriptions to topics of another address not ended; they end with their leases", "error", err)
			}
			return nil
		})
	}
	if p.site != nil {
		g.Go(func() error { return p.site.Run(ctx) })
	}
	p.scanner.ready = func(files int64) {
		p.set.show()
		p.announceReady(c, stdout, files)
	}
	g.Go(func() error {
		p.scanner.run(ctx)
		return nil
	})
	return g.Wait()
}

// listen opens the listener, and derives the base URL from it if none was given.
func listen(c *serveConfig) (net.Listener, error) {
	ln, err := net.Listen("tcp", c.listen)
	if err != nil {
		return nil, usagef("%w; give another address and port, as in --listen 127.0.0.1:8081", err)
	}
	if c.baseURL != "" {
		return ln, nil
	}
	addr := ln.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		ln.Close()
		return nil, usagef("--listen %s accepts connections at all addresses; give the public one, as in --base-url http://files.example.org:%d/", c.listen, addr.Port)
	}
	c.baseURL = "http://" + addr.String() + "/"
	return ln, nil
}

func newLogger(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
