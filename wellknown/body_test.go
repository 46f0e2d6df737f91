package wellknown_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// TestD18_Robots: a request for robots.txt whose body never arrives is answered.
func TestD18_Robots(t *testing.T) {
	server := httptest.NewServer(wellknown.Robots([]string{"https://example.org/sitemap.xml"})(http.NotFoundHandler()))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(needs.Patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET /robots.txt HTTP/1.1\r\nHost: example.org\r\nContent-Length: 1\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Error(res.Status)
	}
}
