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

// An article is what clients send and get, as JSON.
type article struct {
	Title    string    `json:"title"`
	Text     string    `json:"text"`
	Modified time.Time `json:"modified"`
}

// articles is the application: articles that can be written, read and deleted.
type articles struct {
	url string // of all articles, with a slash at its end
	set *memory.Set

	mu   sync.Mutex
	byID map[string]article
}

func newArticles(url string, set *memory.Set) http.Handler {
	a := &articles{url: url, set: set, byID: make(map[string]article)}
	r := chi.NewRouter()
	r.Route("/{id:[0-9]{1,18}}", func(r chi.Router) {
		r.Get("/", a.get)
		r.Head("/", a.get) // chi does not take it for a GET
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

	// Both under one lock: so the Change List tells what happened in the
	// order in which it happened.
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.set.Put(a.resource(id, sent)); err != nil {
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
	a.set.Delete(id)
	delete(a.byID, id)
	w.WriteHeader(http.StatusNoContent)
}

// resource says of an article what harvesters are to know of it. Only Key and
// URI must be there.
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

// representation returns the bytes that a GET gets.
func (a article) representation() []byte {
	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings and a time of this century cannot fail
	}
	return body
}
