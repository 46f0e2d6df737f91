package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

// A Certificate reads its files again when they change, because certificates are
// renewed every few weeks.
type Certificate struct {
	certFile, keyFile string

	mu       sync.Mutex
	modified time.Time
	current  *tls.Certificate
}

func NewCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	if _, err := c.get(nil); err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, settings.Errorf("--tls-cert, --tls-key: %q: %w", pathErr.Path, settings.Unreadable(err))
		}
		return nil, settings.Errorf("--tls-cert, --tls-key: %w; give a certificate chain and its private key, both as PEM", err)
	}
	return c, nil
}

// get returns the current certificate, or the previous one if the files cannot be read
// during a renewal.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.certFile)
	if err == nil && (c.current == nil || !info.ModTime().Equal(c.modified)) {
		var now tls.Certificate
		if now, err = tls.LoadX509KeyPair(c.certFile, c.keyFile); err == nil {
			c.current, c.modified = &now, info.ModTime()
		}
	}
	if c.current == nil {
		return nil, err
	}
	return c.current, nil
}

// Expires returns the time at which the current certificate expires.
func (c *Certificate) Expires() time.Time {
	now, err := c.get(nil)
	if err != nil {
		return time.Time{} // impossible: NewCertificate has read one
	}
	return now.Leaf.NotAfter
}

// Health returns an error if the certificate has expired: clients refuse the site.
func (c *Certificate) Health() error {
	if at := c.Expires(); !time.Now().Before(at) {
		return fmt.Errorf("the certificate in %s expired on %s; renew it (the program needs no restart)", c.certFile, timetext.Of(at))
	}
	return nil
}

const (
	// certificateNotice is the time before its expiry at which a certificate is reported.
	// Automatic renewals are earlier.
	certificateNotice = 30 * settings.Day

	// certificatePoll is the interval of checks, and certificateRepeat the interval of reports.
	certificatePoll   = time.Hour
	certificateRepeat = settings.Day
)

// Watch logs once a day that the certificate expires soon or has expired, and once that it
// has been renewed, until ctx is done.
func (c *Certificate) Watch(ctx context.Context, log *slog.Logger) {
	type report struct {
		expires time.Time
		expired bool
	}
	var last report
	var logged time.Time
	for {
		now := time.Now()
		r := report{expires: c.Expires()}
		left := r.expires.Sub(now)
		r.expired = left <= 0
		about := []any{"certificate", c.certFile, "expires", r.expires.UTC().Format(time.RFC3339)}
		switch {
		case left > certificateNotice:
			if last != (report{}) {
				log.Info("the certificate has been renewed", about...)
			}
			last = report{}
		case r == last && now.Sub(logged) < certificateRepeat:
		case r.expired:
			log.Error("the certificate has expired; clients refuse the site until it is renewed", about...)
			last, logged = r, now
		default:
			log.Warn(fmt.Sprintf("the certificate expires in %d days; renew it", left/settings.Day), about...)
			last, logged = r, now
		}
		if background.Sleep(ctx, certificatePoll) != nil {
			return
		}
	}
}
