package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// articles is the application: texts that can be written, read and deleted.
type articles struct {
	http.ServeMux
	site string
	set  *memory.Set

	mu    sync.Mutex
	texts map[string]article // by name
}

type article struct {
	text     string
	modified time.Time
}

func newArticles(site string, set *memory.Set) *articles {
	a := &articles{site: site, set: set, texts: make(map[string]article)}
	a.HandleFunc("GET /articles/{name}", a.get)
	a.HandleFunc("PUT /articles/{name}", a.put)
	a.HandleFunc("DELETE /articles/{name}", a.delete)
	return a
}

func (a *articles) get(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	found, ok := a.texts[r.PathValue("name")]
	a.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(w, r, "", found.modified, strings.NewReader(found.text))
}

func (a *articles) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "an article has at most 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	name, text, now := r.PathValue("name"), string(body), time.Now().UTC().Truncate(time.Second)

	// Update the set and the articles under one lock, so that the Change List
	// has the changes in their order.
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.set.Put(r.Context(), a.resource(name, text, now)); err != nil {
		http.Error(w, "no article can have this name", http.StatusBadRequest)
		return
	}
	a.texts[name] = article{text, now}
	w.WriteHeader(http.StatusNoContent)
}

func (a *articles) delete(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.set.Delete(r.Context(), name); err != nil {
		http.Error(w, "the article cannot be deleted", http.StatusInternalServerError)
		return
	}
	delete(a.texts, name)
	w.WriteHeader(http.StatusNoContent)
}

// resource returns the resource of an article. Only Key and URI are mandatory.
func (a *articles) resource(name, text string, modified time.Time) resourcesync.Resource {
	sum := sha256.Sum256([]byte(text))
	return resourcesync.Resource{
		Key:          name,
		URI:          a.site + "/articles/" + url.PathEscape(name),
		LastModified: modified,
		Length:       resourcesync.Bytes(int64(len(text))),
		Type:         "text/plain",
		Hashes:       []resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum[:])}},
	}
}
