package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// callbackSettings say where WebSub hubs reach mirror and check.
type callbackSettings struct{ callbackListen, callbackURL string }

func (s *callbackSettings) flags(flags *flag.FlagSet) {
	flags.StringVar(&s.callbackListen, "callback-listen", "", "")
	flags.StringVar(&s.callbackURL, "callback-url", "", "")
}

func (s *callbackSettings) check() error {
	if (s.callbackListen != "") != (s.callbackURL != "") {
		return errors.New("--callback-listen and --callback-url need each other: the address to listen at, and the URL at which hubs reach it")
	}
	return nil
}

// serve calls use while callback answers at --callback-listen. The context of use ends when
// the server fails.
func (s *callbackSettings) serve(ctx context.Context, callback http.Handler, log *slog.Logger, use func(context.Context) error) error {
	listener, err := net.Listen("tcp", s.callbackListen)
	if err != nil {
		return usagef("--callback-listen: %w", err)
	}
	using, end := context.WithCancel(ctx)
	defer end()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var failed error
	var running sync.WaitGroup
	running.Go(func() {
		failed = (&server{listener: listener, handler: callback}).run(serving, log)
		end()
	})
	err = use(using)
	stop()
	running.Wait()
	if err == nil {
		err = failed
	}
	return err
}
