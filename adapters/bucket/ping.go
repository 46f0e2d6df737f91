package bucket

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/ping"
)

// Ping returns a handler through which the store and others report changes, and which
// calls [Bucket.Changed]. It takes a form with the URIs of objects, or without any:
//
//	curl -H 'Authorization: Bearer TOKEN' -d url=https://data.example.org/a https://example.org/resourcesync/ping
//
// It also takes the event notifications of S3 as JSON, which MinIO, Ceph and others post
// themselves; events of objects without Options.Prefix are ignored. The token may also be
// the password of Basic authentication. The response is 202, 401 without the token, and 400
// or 413 for an invalid body.
//
// Ping panics if token is empty.
func (b *Bucket) Ping(token string) http.Handler {
	if token == "" {
		panic("bucket: Ping needs a token")
	}
	return ping.Handler(token, "Send at most 64 KiB.", func(header http.Header, body []byte) *ping.Refusal {
		read := b.readForm
		if t, _, _ := mime.ParseMediaType(header.Get("Content-Type")); t == "application/json" {
			read = b.readEvents
		}
		keys, any, err := read(body)
		if err != "" {
			return &ping.Refusal{Status: http.StatusBadRequest, Message: err}
		}
		if len(keys) > 0 || any {
			b.Changed(keys...)
		}
		return nil
	})
}

// readForm returns the keys of the objects whose URIs a form lists. any reports that it lists none.
func (b *Bucket) readForm(body []byte) (keys []string, any bool, wrong string) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, false, "Send a form: url=…&url=…."
	}
	for _, uri := range form["url"] {
		key, err := b.template.key(uri)
		if err != nil {
			return nil, false, "Send URIs of objects, such as " + b.template.before + "name" + b.template.after + "."
		}
		keys = append(keys, key)
	}
	return keys, len(keys) == 0, ""
}

// readEvents returns the keys in event notifications of S3.
func (b *Bucket) readEvents(body []byte) (keys []string, any bool, wrong string) {
	var events struct {
		Records []struct {
			S3 struct {
				Object struct{ Key string }
			}
		}
	}
	if err := json.Unmarshal(body, &events); err != nil {
		return nil, false, "Send event notifications of S3 as JSON."
	}
	for _, e := range events.Records {
		// S3 encodes the names, as in a form. Some stores do not.
		name, err := url.QueryUnescape(e.S3.Object.Key)
		if err != nil {
			name = e.S3.Object.Key
		}
		for _, name := range []string{name, e.S3.Object.Key} {
			if key, ok := strings.CutPrefix(name, b.options.Prefix); ok && key != "" && !strings.HasSuffix(key, "/") {
				keys = append(keys, key)
			}
		}
	}
	return keys, false, ""
}
