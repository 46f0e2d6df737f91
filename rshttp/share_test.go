package rshttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestClientTransfers: a client that takes as many packages as it can leaves some for
// others, even if it uses several ports and IPv6 addresses. Only packages count.
func TestClientTransfers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shelfOf(t, 3, 1000)
		src := newSource(t, nil, rshttp.Set{Provider: s})
		get(t, src, wholePath) // it is laid out
		ask := func(from, path string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.RemoteAddr = from
			w := httptest.NewRecorder()
			src.ServeHTTP(w, r)
			return w
		}
		hold := make(chan struct{})
		s.mu.Lock()
		s.opening = func(string) { <-hold }
		s.mu.Unlock()
		statuses := make(chan int, 64)
		for range 64 {
			go func() { statuses <- ask("[2001:db8::1]:1", wholePath).Code }()
		}
		synctest.Wait() // 32 wait for content
		for range 32 {
			if status := <-statuses; status != http.StatusTooManyRequests {
				t.Errorf("one of 64 of one client is answered %d", status)
			}
		}
		if len(statuses) != 0 {
			t.Error("a client has less than half of the transfers")
		}
		if w := ask("[2001:db8::2]:2", wholePath); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("the same client by another address: %d, %v", w.Code, w.Header())
		}
		if w := ask("[2001:db8::1]:1", dumpPath); w.Code != http.StatusOK {
			t.Errorf("a document: %d", w.Code)
		}
		done := make(chan int)
		go func() { done <- ask("192.0.2.7:1", wholePath).Code }()
		synctest.Wait()
		close(hold)
		if status := <-done; status != http.StatusOK {
			t.Errorf("another client: %d", status)
		}
		for range 32 {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("a transfer ends with %d", status)
			}
		}
		if w := ask("[2001:db8::1]:1", wholePath); w.Code != http.StatusOK {
			t.Errorf("afterwards: %d", w.Code)
		}
	})
}
