package hub

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A gauge counts concurrent operations.
type gauge struct {
	mu        sync.Mutex
	now, most int
}

// enter counts one operation until leave is called.
func (g *gauge) enter() (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now--
	}
}

func (g *gauge) highest() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

// Limits count many ports of one host, or many IPv6 addresses of one network, as one
// host.
func TestV6_V8_PortsOfOneHost(t *testing.T) {
	for _, format := range []string{"http://victim.example:%d/", "https://VICTIM.example:%d/", "http://93.184.215.14:%d/", "http://[2606:4700:0:7::%d]/"} {
		f := idleFront(t, Options{Limits: Limits{Host: 3, HostPending: -1}})
		for i := range 4 {
			want := http.StatusAccepted
			if i == 3 {
				want = http.StatusTooManyRequests
			}
			if status, text := f.post(fmt.Sprintf(format, 2000+i)); status != want {
				t.Errorf("%s, number %d: %d %s", format, i+1, status, text)
			}
		}
	}
}

// The same for concurrent verifications and deliveries.
func TestV6_V15_PerHostWhateverThePort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := deliveryOptions()
		o.PerHost = 2
		h := deliveryHub(t, pushlog.NewMemory(), o)
		var underWay [2]gauge // verifications, deliveries
		h.transport = transport(func(r *http.Request) (*http.Response, error) {
			kind := 0
			if r.Method == http.MethodPost {
				kind = 1
			}
			defer underWay[kind].enter()()
			time.Sleep(time.Second)
			return confirms(r)
		})
		const ports = 12
		for i := range ports {
			form := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.callback": {fmt.Sprintf("http://victim.example:%d/", 2000+i)}}
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusAccepted {
				t.Fatal(w.Code, w.Body)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		time.Sleep(time.Minute)
		publish(t, h, "message")
		time.Sleep(time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := underWay[0].highest(); got != verifyingPerHost {
			t.Errorf("%d verifications at a time", got)
		}
		if got := underWay[1].highest(); got != 2 {
			t.Errorf("%d deliveries at a time", got)
		}
		if got := h.deliveryTotals.Load().Delivered; got != ports {
			t.Errorf("%d delivered", got)
		}
	})
}
