package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/bucketurl"
	"github.com/resourcesync-go/resourcesync/internal/azuretest"
)

// TestAzureOpens lists a container with the credentials of the environment.
func TestAzureOpens(t *testing.T) {
	b := azuretest.New(t)
	b.Put(t, "a", "one")
	for _, variable := range b.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	u, err := bucketurl.Parse(b.URL)
	must(t, err)
	opened, err := u.Open(t.Context())
	must(t, err)
	defer opened.Close()
	if o, err := opened.List(nil).Next(t.Context()); err != nil || o.Key != "a" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestAzureLimits: the response to a listing is limited, and a token of the environment is sent to
// its own service only.
func TestAzureLimits(t *testing.T) {
	var sent, requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			http.Error(w, "once is enough", http.StatusForbidden)
			return
		}
		for text := strings.Repeat("a", 1<<20); sent.Load() < 100<<20; sent.Add(1 << 20) {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	for _, name := range []string{"AZURE_STORAGE_KEY", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGEBLOB_CONNECTIONSTRING"} {
		t.Setenv(name, "")
	}
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sig=x")
	address := strings.TrimPrefix(server.URL, "http://")
	u, err := bucketurl.Parse(fmt.Sprintf("azblob://papers?protocol=http&domain=%s&localemu=true", address))
	must(t, err)
	if _, err := u.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "AZURE_STORAGE_SAS_TOKEN") {
		t.Errorf("the token goes to another service: %v", err)
	}
	t.Setenv("AZURE_STORAGE_DOMAIN", address)
	t.Setenv("AZURE_STORAGE_PROTOCOL", "http")
	t.Setenv("AZURE_STORAGE_IS_LOCAL_EMULATOR", "true")
	opened, err := u.Open(t.Context())
	must(t, err)
	defer opened.Close()
	if _, err := opened.List(nil).Next(t.Context()); err == nil {
		t.Error("the listing is read")
	}
	if n := sent.Load(); n > 2*bucket.MaxListing || n == 0 {
		t.Errorf("%d bytes were read", n)
	}
}
