package sidecar_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

func Example() {
	cms := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "a page of ", r.Host)
	}))
	defer cms.Close()

	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: memory.New(nil)}}, nil)
	if err != nil {
		panic(err)
	}
	proxy, err := sidecar.NewProxy(cms.URL, "https://example.org/", nil)
	if err != nil {
		panic(err)
	}
	site := sidecar.Wrap(proxy, src, &sidecar.Options{HTMLLink: true})

	for _, path := range []string{"/about", "/.well-known/resourcesync"} {
		answer := httptest.NewRecorder()
		site.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
		fmt.Println(path, answer.Code, answer.Header().Get("Content-Type"))
	}
	// Output:
	// /about 200 text/plain; charset=utf-8
	// /.well-known/resourcesync 200 application/xml
}
