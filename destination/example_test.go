package destination_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A copy of a Source in a folder.
func Example() {
	site := newSite()
	defer site.Close()
	dir, err := os.MkdirTemp("", "copy")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	folder, err := destination.OpenFolder(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer folder.Close()
	d, err := destination.New(site.URL, folder, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	report, err := d.Sync(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hello.txt"))
	fmt.Println(report.Created, report.Failed, string(text), err)
	// Output: 1 0 Hello! <nil>
}

// newSite returns a small Source.
func newSite() *httptest.Server {
	set := memory.New(nil)
	site := httptest.NewUnstartedServer(nil)
	base := "http://" + site.Listener.Addr().String()
	src, err := rshttp.New(base+"/resourcesync/", []rshttp.Set{{Provider: set}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := set.Put(context.Background(), resourcesync.Resource{Key: "hello", URI: base + "/hello.txt", Length: resourcesync.Bytes(6)}); err != nil {
		log.Fatal(err)
	}
	site.Config.Handler = src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hello.txt" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "Hello!")
	}))
	site.Start()
	return site
}
