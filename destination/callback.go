package destination

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const (
	// maxNotification is the maximum size, in bytes, of a notification that is kept. Of a
	// larger one, up to maxDelivery bytes are read to verify it, and the Change List has its
	// changes.
	maxNotification = 4 << 20
	maxDelivery     = 64 << 20

	// maxDeliveries is the number of notifications that are received at a time, and
	// deliveryTime the time in which one must arrive.
	maxDeliveries = 8
	deliveryTime  = 30 * time.Second
)

// A Callback receives the notifications of WebSub hubs, for any number of Destinations; see
// [FollowOptions]. It is an [http.Handler] for all URLs that begin with its own. Each
// subscription has a random URL and a random secret. Deliveries that are not signed with the
// secret by SHA-256, SHA-384 or SHA-512 are ignored.
//
// The server must limit the time for headers. A Callback limits the number, size and time of
// deliveries.
type Callback struct {
	url        string // ends in a slash
	deliveries chan struct{}

	mu            sync.Mutex
	subscriptions map[string]*subscription // by the last element of their paths
}

// NewCallback returns the Callback at the public URL uri, such as
// "https://mirror.example.org/callback/".
func NewCallback(uri string) (*Callback, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("destination: %q is not the URL of a callback, like https://mirror.example.org/callback/", uri)
	}
	return &Callback{
		url: strings.TrimSuffix(u.String(), "/") + "/", deliveries: make(chan struct{}, maxDeliveries), subscriptions: make(map[string]*subscription),
	}, nil
}

// add makes the Callback receive the requests of hubs to the URL of s.
func (c *Callback) add(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions[path.Base(s.Callback)] = s
}

// has reports whether uri is below the URL of c.
func (c *Callback) has(uri string) bool { return strings.HasPrefix(uri, c.url) }

func (c *Callback) remove(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if token := path.Base(s.Callback); c.subscriptions[token] == s {
		delete(c.subscriptions, token)
	}
}

// ServeHTTP implements [http.Handler].
func (c *Callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	c.mu.Lock()
	s := c.subscriptions[path.Base(r.URL.Path)]
	c.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && s != nil:
		c.receive(w, r, s)
	case r.Method == http.MethodPost:
		reqbody.None(w, r)
		http.Error(w, "There is no such subscription.", http.StatusGone) // a hub may end it
	case !reqbody.Get(w, r):
	case s == nil || !s.verify(w, r.URL.Query()):
		http.Error(w, "There is no such subscription.", http.StatusNotFound)
	}
}

// Deliver answers a delivery (WebSub, section 7). Whether its signature is right is not
// revealed (section 7.1).
func (c *Callback) receive(w http.ResponseWriter, r *http.Request, s *subscription) {
	select {
	case c.deliveries <- struct{}{}:
		defer func() { <-c.deliveries }()
	default:
		reqbody.None(w, r)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "Too many deliveries arrive at the same time. Try again later.", http.StatusServiceUnavailable)
		return
	}
	mac, want, err := signature(r.Header.Get("X-Hub-Signature"), s.Secret)
	if err != nil {
		reqbody.None(w, r)
		s.ignored(err)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	body, whole, err := readDelivery(w, r, mac)
	switch {
	case err != nil:
		http.Error(w, "The notification is too long, or did not arrive in time.", http.StatusRequestEntityTooLarge)
		return
	case !hmac.Equal(mac.Sum(nil), want):
		s.ignored(errSigned)
	case whole:
		s.received()
		s.inbox.put(notification{s.key, body})
	default:
		s.received()
		s.inbox.miss(s.key, true)
	}
	w.WriteHeader(http.StatusAccepted)
}

var (
	errUnsigned = errors.New("it has no X-Hub-Signature by SHA-256, SHA-384 or SHA-512")
	errSigned   = errors.New("its X-Hub-Signature is wrong")
)

// signature parses the signature of a delivery (WebSub, section 7.1), and returns the hash with
// which it is verified. SHA-1 is refused.
func signature(header, secret string) (mac hash.Hash, want []byte, err error) {
	method, digest, _ := strings.Cut(header, "=")
	var algorithm func() hash.Hash
	switch strings.ToLower(strings.TrimSpace(method)) {
	case "sha256":
		algorithm = sha256.New
	case "sha384":
		algorithm = sha512.New384
	case "sha512":
		algorithm = sha512.New
	default:
		return nil, nil, errUnsigned
	}
	if want, err = hex.DecodeString(strings.TrimSpace(digest)); err != nil {
		return nil, nil, errSigned
	}
	return hmac.New(algorithm, []byte(secret)), want, nil
}

// readDelivery reads the body of a delivery into mac. Of a body of more than maxNotification
// bytes, it returns none, and whole is false.
func readDelivery(w http.ResponseWriter, r *http.Request, mac io.Writer) (body []byte, whole bool, err error) {
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(deliveryTime))
	in := io.TeeReader(http.MaxBytesReader(w, r.Body, maxDelivery), mac)
	if body, err = io.ReadAll(io.LimitReader(in, maxNotification)); err != nil {
		return nil, false, err
	}
	n, err := io.Copy(io.Discard, in)
	if err != nil || n > 0 {
		return nil, false, err
	}
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, true, nil
}

// maxChallenge is the maximum length of a challenge that is repeated, and unstatedLease the
// lease of a hub that states none.
const (
	maxChallenge  = 4 << 10
	unstatedLease = 24 * time.Hour
)

// verify answers a verification of intent, or takes note of a denial (WebSub, sections 5.2 and
// 5.3). It reports false if s does not want what the hub wants to verify.
func (s *subscription) verify(w http.ResponseWriter, q url.Values) bool {
	mode, topic, challenge := q.Get("hub.mode"), q.Get("hub.topic"), q.Get("hub.challenge")
	wants, wanted := s.wants()
	switch {
	case topic != wanted:
		return false
	case mode == "denied":
		s.tell(event{denied: true, reason: q.Get("hub.reason")})
		w.WriteHeader(http.StatusNoContent)
		return true
	case mode != wants || challenge == "" || len(challenge) > maxChallenge:
		return false
	}
	lease := unstatedLease
	if seconds, err := strconv.ParseUint(q.Get("hub.lease_seconds"), 10, 31); err == nil && seconds > 0 {
		lease = time.Duration(seconds) * time.Second
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, challenge)
	s.tell(event{lease: lease})
	return true
}
