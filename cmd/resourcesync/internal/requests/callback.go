package requests

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/server"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// Callback state where WebSub hubs reach mirror and check.
type Callback struct{ CallbackListen, CallbackURL string }

func (s *Callback) Declare(c *settings.Catalog) {
	c.Add(
		settings.Setting{Name: "callback-listen", Value: settings.Text(&s.CallbackListen), Group: settings.Push,
			Text: `The address and port at which notifications of WebSub hubs arrive, such as :8090, with --follow.`},
		settings.Setting{Name: "callback-url", Value: settings.Text(&s.CallbackURL), Group: settings.Push,
			Text: `The URL at which hubs reach --callback-listen, such as https://mirror.example.org/callback/. It
				may be that of a reverse proxy.`},
	)
}

func (s *Callback) Check() error {
	var f settings.Faults
	f.If(s.CallbackListen == "" && s.CallbackURL != "", "callback-url", "give --callback-listen as well, the address to listen at")
	f.If(s.CallbackListen != "" && s.CallbackURL == "", "callback-listen", "give --callback-url as well, the URL at which hubs reach it")
	return f.Err()
}

// Serve calls use while callback answers at --callback-listen. The context of use ends when
// the server fails.
func (s *Callback) Serve(ctx context.Context, callback http.Handler, log *slog.Logger, use func(context.Context) error) error {
	listener, err := net.Listen("tcp", s.CallbackListen)
	if err != nil {
		return settings.Errorf("--callback-listen: %w", err)
	}
	return (&server.Server{Listener: listener, Handler: callback}).RunWhile(ctx, log, use)
}
