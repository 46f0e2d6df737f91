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
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/callback"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const (
	// maxNotification is the maximum size, in bytes, of a notification that is kept. A
	// larger one, of up to maxDelivery bytes, is read only to verify it; the Change List has
	// its changes.
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
	mux        *callback.Mux[*subscription]
	deliveries chan struct{}
}

// NewCallback returns the Callback at the public URL uri, such as
// "https://mirror.example.org/callback/".
func NewCallback(uri string) (*Callback, error) {
	mux, err := callback.New[*subscription](uri)
	if err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	return &Callback{mux: mux, deliveries: make(chan struct{}, maxDeliveries)}, nil
}

// ServeHTTP implements [http.Handler].
func (c *Callback) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// Deliver answers a delivery (WebSub, section 7). Whether its signature is right is not
// revealed (section 7.1).
func (s *subscription) Deliver(w http.ResponseWriter, r *http.Request) {
	select {
	case s.deliveries <- struct{}{}:
		defer func() { <-s.deliveries }()
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

// readDelivery reads the body of a delivery into mac. If the body has more than
// maxNotification bytes, it returns nil, and whole is false.
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

// unstatedLease is the lease of a hub that states none.
const unstatedLease = 24 * time.Hour

// Verify answers a verification of intent, or records a denial (WebSub, sections 5.2 and 5.3).
func (s *subscription) Verify(w http.ResponseWriter, q url.Values) bool {
	mode, topic := s.wants()
	if q.Get("hub.topic") == topic && q.Get("hub.mode") == "denied" {
		s.tell(event{denied: true, reason: q.Get("hub.reason")})
		w.WriteHeader(http.StatusNoContent)
		return true
	}
	if !callback.Confirms(q, mode, topic) {
		return false
	}
	lease := unstatedLease
	if seconds, err := strconv.ParseUint(q.Get("hub.lease_seconds"), 10, 31); err == nil && seconds > 0 {
		lease = time.Duration(seconds) * time.Second
	}
	callback.Confirm(w, q)
	s.tell(event{lease: lease})
	return true
}
