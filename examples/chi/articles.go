package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// An article is the JSON that clients send and receive.
type article struct {
	Title    string    `json:"title"`
	Text     string    `json:"text"`
	Modified time.Time `json:"modified"`
}

// articles is the application: articles that can be written, read and deleted.
type articles struct {
	url string // of all articles, with a trailing slash
	set *memory.Set

	mu   sync.Mutex
	byID map[string]article
}

func newArticles(url string, set *memory.Set) http.Handler {
	a := &articles{url: url, set: set, byID: make(map[string]article)}
	r := chi.NewRouter()
	r.Route("/{id:[0-9]{1,18}}", func(r chi.Router) {
		r.Get("/", a.get)
		r.Head("/", a.get) // chi does not route it to GET
		r.Put("/", a.put)
		r.Delete("/", a.delete)
	})
	return r
}

func (a *articles) get(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	found, ok := a.byID[chi.URLParam(r, "id")]
	a.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	http.ServeContent(w, r, "", found.Modified, bytes.NewReader(found.representation()))
}

func (a *articles) put(w http.ResponseWriter, r *http.Request) {
	var sent article
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&sent); err != nil {
		http.Error(w, "an article is JSON of at most 1 MiB", http.StatusBadRequest)
		return
	}
	id := chi.URLParam(r, "id")
	sent.Modified = time.Now().UTC().Truncate(time.Second)

	// Update the set and the articles under one lock, so that the Change List
	// has the changes in their order.
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.set.Put(r.Context(), a.resource(id, sent)); err != nil {
		http.Error(w, "the article cannot be published", http.StatusInternalServerError)
		return
	}
	a.byID[id] = sent
	w.WriteHeader(http.StatusNoContent)
}

func (a *articles) delete(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.set.Delete(r.Context(), id); err != nil {
		http.Error(w, "the article cannot be deleted", http.StatusInternalServerError)
		return
	}
	delete(a.byID, id)
	w.WriteHeader(http.StatusNoContent)
}

// resource returns the resource of an article. Only Key and URI are mandatory.
func (a *articles) resource(id string, from article) resourcesync.Resource {
	body := from.representation()
	sum := sha256.Sum256(body)
	return resourcesync.Resource{
		Key:          id,
		URI:          a.url + id,
		LastModified: from.Modified,
		Length:       resourcesync.Bytes(int64(len(body))),
		Type:         "application/json",
		Hashes:       []resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum[:])}},
	}
}

// representation returns the body of a GET.
func (a article) representation() []byte {
	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings and a time of this century cannot fail
	}
	return body
}
