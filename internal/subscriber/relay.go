package subscriber

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

// A Relay is a remote hub: it appends the notifications that are posted to it to a
// log, and leaves all other requests to the hub that reads the log.
type Relay struct {
	Log   pushlog.Log
	Hub   http.Handler
	Token string // that the Source has to send

	mu sync.Mutex
}

// ServeHTTP implements [http.Handler]. It does not append a notification twice.
func (h *Relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/xml" {
		h.Hub.ServeHTTP(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+h.Token {
		http.Error(w, "a token is needed", http.StatusUnauthorized)
		return
	}
	n := pushlog.Notification{}
	links := linkheader.Parse(r.Header.Values("Link")...)
	for l := range linkheader.Find(links, resourcesync.RelSelf) {
		n.Topic = l.Target
	}
	for l := range linkheader.Find(links, resourcesync.RelResourceSync) {
		n.CapabilityList = l.Target
	}
	var err error
	if n.Body, err = io.ReadAll(r.Body); err == nil {
		err = h.append(r, n)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (h *Relay) append(r *http.Request, n pushlog.Notification) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, err := h.Log.State(r.Context(), n.Topic)
	if err != nil {
		return err
	}
	newest, err := h.Log.Read(r.Context(), n.Topic, before.Number-1, 1, 0)
	if err != nil || len(newest) == 1 && bytes.Equal(newest[0].Body, n.Body) {
		return err
	}
	return h.Log.Append(r.Context(), n, before, pushlog.State{Number: before.Number + 1, Until: time.Now()})
}
