package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"
)

// serve publishes a folder until ctx is done.
func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseServe(args)
	if errors.Is(err, flag.ErrHelp) {
		printServeHelp(stdout)
		return nil
	}
	if err != nil {
		return err
	}
	if err := checkFolder(c.folder); err != nil {
		return err
	}
	ln, err := listen(&c)
	if err != nil {
		return err
	}
	defer ln.Close()
	statusListener, err := listenStatus(&c)
	if err != nil {
		return err
	}
	if statusListener != nil {
		defer statusListener.Close()
	}
	screen := newScreen(stderr)
	log := newLogger(screen, c.logFormat)
	st, err := openState(ctx, &c, log)
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
	p, err := publish(&c, st, screen, log)
	if err != nil {
		return err
	}
	defer p.close()
	log.Info("listening", "address", ln.Addr().String(), "site", c.baseURL, "folder", c.folder, "state", st.place)
	return p.run(ctx, &c, &server{listener: ln, handler: p.handler()}, statusListener, stdout)
}

// run serves and scans until ctx is done.
func (p *publication) run(ctx context.Context, c *serveConfig, site *server, statusListener net.Listener, stdout io.Writer) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		<-ctx.Done()
		p.log.Info("stopping", "cause", context.Cause(ctx))
		return nil
	})
	site.handler = clientAddress(c.client, site.handler)
	g.Go(func() error { return site.run(ctx, p.log) })
	if statusListener != nil {
		p.log.Info("status for operators", "url", "http://"+statusListener.Addr().String()+"/")
		status := &server{listener: statusListener, handler: checkHost(c.status, http.HandlerFunc(p.serveStatus))}
		g.Go(func() error { return status.run(ctx, p.log) })
	}
	g.Go(func() error { return p.source.Run(ctx) })
	if p.source.Hub() != nil && !p.named { // others may know of topics that this process does not
		g.Go(func() error {
			p.leaveTopics(ctx)
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

func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no folder %q; give one whose files are to be published", folder)
	case err != nil:
		return usagef("folder %q: %w", folder, reason(err))
	case !info.IsDir():
		return usagef("%q is a file; give the folder that it is in", folder)
	}
	return nil
}

// reason returns what is wrong with a path, without the path, which an error
// does not quote.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// listen begins to listen, and makes the base URL follow the listener if none
// was given.
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
		return nil, usagef("--listen %s answers at all addresses of this computer; say which one the documents are to give, as in --base-url http://files.example.org:%d/", c.listen, addr.Port)
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
