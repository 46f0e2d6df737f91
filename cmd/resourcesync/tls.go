package main

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// A certificate reads its files again when they change, because certificates are
// renewed every few weeks.
type certificate struct {
	certFile, keyFile string

	mu       sync.Mutex
	modified time.Time
	current  *tls.Certificate
}

// newCertificate reads a certificate for the first time.
func newCertificate(certFile, keyFile string) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if _, err := c.get(nil); err != nil {
		return nil, usagef("--tls-cert, --tls-key: %w", err)
	}
	return c, nil
}

// get returns the current certificate, or the one before it if the files cannot be read
// during a renewal.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
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
