package hub

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A crowd is many subscribers, each on its own host. Of twenty, two hang, two answer
// 500, one vanishes after the first message, and fifteen are healthy.
type crowd struct {
	tb      testing.TB
	n       int
	ports   [2]int // of all, of the subscribers that vanish
	servers [2]*http.Server
	ended   chan struct{}

	mu        sync.Mutex
	began     map[int]time.Time
	latencies []time.Duration
	got       [][]int // messages, by subscriber
}

func newCrowd(tb testing.TB, n int) *crowd {
	c := &crowd{tb: tb, n: n, ended: make(chan struct{}), began: map[int]time.Time{}, got: make([][]int, n)}
	for i := range c.servers {
		l, err := net.Listen("tcp", "0.0.0.0:0")
		if err != nil {
			tb.Fatal(err)
		}
		c.ports[i] = l.Addr().(*net.TCPAddr).Port
		c.servers[i] = &http.Server{Handler: c}
		go c.servers[i].Serve(l)
	}
	tb.Cleanup(func() {
		close(c.ended)
		c.servers[0].Close()
		c.servers[1].Close()
	})
	return c
}

func kind(i int) string {
	switch i % 20 {
	case 0, 7:
		return "hangs"
	case 3, 11:
		return "fails"
	case 15:
		return "vanishes"
	}
	return "well"
}

func (c *crowd) callback(i int) string {
	port := c.ports[0]
	if kind(i) == "vanishes" {
		port = c.ports[1]
	}
	return fmt.Sprintf("http://127.%d.%d.%d:%d/%d", 1+i/62500, i/250%250, 1+i%250, port, i)
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	now := time.Now()
	i, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		c.tb.Error(err)
		return
	}
	switch kind(i) {
	case "hangs":
		select {
		case <-r.Context().Done():
		case <-c.ended:
		}
		return
	case "fails":
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
	message := int(binary.BigEndian.Uint32(body))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[i] = append(c.got[i], message)
	if kind(i) == "well" {
		c.latencies = append(c.latencies, now.Sub(c.began[message]))
	}
}

// publish publishes message m with size bytes.
func (c *crowd) publish(h *Hub, m, size int) {
	body := bytes.Repeat([]byte("x"), size)
	binary.BigEndian.PutUint32(body, uint32(m))
	c.mu.Lock()
	c.began[m] = time.Now()
	c.mu.Unlock()
	publish(c.tb, h, string(body))
}

// well reports whether all healthy subscribers have the first n messages, some perhaps
// twice.
func (c *crowd) well(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, got := range c.got {
		if kind(i) == "well" && (len(got) == 0 || got[len(got)-1] < n-1) {
			return false
		}
	}
	return true
}

// TestV15_Fanout: healthy subscribers get their messages although a quarter of all is
// not healthy, and almost as many hang as there are workers. With the environment
// variable RESOURCESYNC_FANOUT set to a number of subscribers, say 2000, it takes
// longer and reports the times of messages.
func TestV15_Fanout(t *testing.T) { FanoutFrom(t, pushlog.NewMemory()) }

// FanoutFrom is TestV15_Fanout with another store.
func FanoutFrom(t *testing.T, store pushlog.Log) {
	t.Parallel()
	n, messages, size, every := 200, 10, 100<<10, 20*time.Millisecond
	o := deliveryOptions()
	o.Workers, o.Timeout, o.Retry = 24, 3*time.Second, 100*time.Millisecond
	if v := os.Getenv("RESOURCESYNC_FANOUT"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
		messages, every = 30, time.Second
		o.Workers, o.Timeout, o.Retry = 0, 0, 0
	}
	h := deliveryHub(t, store, o)
	c := newCrowd(t, n)
	for i := range n {
		subscribed(t, store, c.callback(i), benchSecret(i), time.Hour)
	}
	stop := start(t, h)
	heap := mostHeap()
	for m := range messages {
		c.publish(h, m, size)
		if m == 0 {
			within(t, "the first message is delivered", func() bool { return c.well(1) })
			c.servers[1].Close()
		}
		time.Sleep(every)
	}
	within(t, "healthy subscribers have all messages", func() bool { return c.well(messages) })
	stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, got := range c.got {
		if kind(i) == "well" && (!slices.IsSorted(got) || got[0] != 0 || got[len(got)-1] != messages-1) {
			t.Errorf("subscriber %d has %v", i, got)
		}
	}
	l := slices.Sorted(slices.Values(c.latencies))
	t.Logf("%d subscribers, %d messages of %d KiB: median %v, p99 %v, longest %v; heap at most %d MiB, this test included",
		n, messages, size>>10, l[len(l)/2], l[len(l)*99/100], l[len(l)-1], heap()>>20)
}

// mostHeap measures the heap until the returned function is called, which returns the
// maximum.
func mostHeap() (end func() uint64) {
	ended, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		var found uint64
		for {
			select {
			case <-tick.C:
				metrics.Read(heap)
				found = max(found, heap[0].Value.Uint64())
			case <-ended:
				most <- found
				return
			}
		}
	}()
	return func() uint64 {
		close(ended)
		return <-most
	}
}
