package destination

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/retry"
)

const (
	// pingEvery is the interval of pings, and pongTime the time in which they must be
	// answered: a connection can end without a sign.
	pingEvery = 30 * time.Second
	pongTime  = 20 * time.Second

	// steadyTime is the time after which a connection counts as a success.
	steadyTime = time.Minute
)

// A socket receives the notifications of a channel by a WebSocket (section 6 of the 0.8 draft).
type socket struct {
	channel
	transport http.RoundTripper
	messages  chan struct{} // limits the messages that are received at a time
}

// run receives notifications until ctx ends, and reconnects when a connection ends.
func (s *socket) run(ctx context.Context) {
	wait := retry.Policy{First: time.Second, Max: 5 * time.Minute}
	for failures := 0; ; {
		begun := time.Now()
		err := s.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		failures++
		if time.Since(begun) > steadyTime {
			failures = 1
		}
		pause := wait.Wait(failures, 0)
		s.failed(err.Error(), time.Now().Add(pause))
		s.log.Info("the WebSocket has ended; connecting again", "url", s.WebSocket, "error", err, "after", pause)
		if background.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// connect receives notifications until the connection ends.
func (s *socket) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, s.WebSocket, &websocket.DialOptions{HTTPClient: &http.Client{Transport: s.transport}})
	if res != nil && res.StatusCode == http.StatusUpgradeRequired {
		return errors.New("the server received no request for a WebSocket (426): a proxy in front of it must pass on the headers Upgrade and Connection")
	}
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxNotification)
	s.log.Debug("the WebSocket is connected", "url", s.WebSocket)
	s.opened(time.Time{}, time.Time{})
	s.inbox.miss(s.key, false) // changes since the last connection
	go s.ping(ctx, conn, cancel)
	for {
		body, err := s.receive(ctx, conn)
		if err != nil {
			return err
		}
		s.received()
		s.inbox.put(notification{s.key, body})
	}
}

func (s *socket) receive(ctx context.Context, conn *websocket.Conn) ([]byte, error) {
	_, r, err := conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case s.messages <- struct{}{}:
		defer func() { <-s.messages }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	late := time.AfterFunc(deliveryTime, func() { conn.CloseNow() })
	defer late.Stop()
	return io.ReadAll(r)
}

// ping ends the connection when the server does not answer.
func (s *socket) ping(ctx context.Context, conn *websocket.Conn, end func()) {
	defer end()
	for background.Sleep(ctx, pingEvery) == nil {
		limited, cancel := context.WithTimeout(ctx, pongTime)
		err := conn.Ping(limited)
		cancel()
		if err != nil {
			return
		}
	}
}
