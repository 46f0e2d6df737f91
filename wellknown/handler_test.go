package wellknown

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHandler(t *testing.T) {
	document, _, err := Description(numbered(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(Path, Handler(document))
	server := httptest.NewServer(mux)
	defer server.Close()

	tag := exchange(t, server, "GET", Path, nil).header.Get("ETag")
	if other := entityTag([]byte("other")); !strings.HasPrefix(tag, `W/"`) || tag == other {
		t.Errorf("ETag %s, that of another document %s", tag, other)
	}
	tests := []struct {
		name, method string
		header       http.Header
		status       int
		body         string
	}{
		{"GET", "GET", nil, 200, string(document)},
		{"HEAD", "HEAD", nil, 200, ""},
		{"unchanged", "GET", http.Header{"If-None-Match": {tag}}, 304, ""},
		{"unchanged HEAD", "HEAD", http.Header{"If-None-Match": {`"x", ` + tag}}, 304, ""},
		{"changed", "GET", http.Header{"If-None-Match": {`"x"`}}, 200, string(document)},
		{"range", "GET", http.Header{"Range": {"bytes=0-4"}}, 206, "<?xml"},
		{"POST", "POST", nil, 405, "Only GET and HEAD are allowed here.\n"},
		{"OPTIONS", "OPTIONS", nil, 405, "Only GET and HEAD are allowed here.\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := exchange(t, server, test.method, Path, test.header)
			if got.status != test.status || got.body != test.body {
				t.Errorf("%d %q, want %d %q", got.status, got.body, test.status, test.body)
			}
			want := map[string]string{"Content-Type": "application/xml", "ETag": tag, "Allow": "", "Last-Modified": ""}
			switch test.status {
			case 304:
				want["Content-Type"] = ""
			case 405:
				want = map[string]string{"Content-Type": "text/plain; charset=utf-8", "ETag": "", "Allow": "GET, HEAD"}
			}
			for name, value := range want {
				if got := got.header.Get(name); got != value {
					t.Errorf("%s: %q, want %q", name, got, value)
				}
			}
			if test.method == "HEAD" && test.status == 200 && got.length != int64(len(document)) {
				t.Errorf("Content-Length: %d, want %d", got.length, len(document))
			}
		})
	}
}

// received is a response as it came over the wire.
type received struct {
	status int
	header http.Header
	length int64
	body   string
}

func exchange(t *testing.T, server *httptest.Server, method, path string, header http.Header) received {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return received{resp.StatusCode, resp.Header, resp.ContentLength, string(body)}
}
