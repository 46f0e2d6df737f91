package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a certificate for 127.0.0.1 with its key, and returns the flags.
func writeCertificate(t *testing.T, folder string, expires time.Time) (flags []string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: expires.Add(-90 * 24 * time.Hour), NotAfter: expires,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	cert, keyFile := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return []string{"--tls-cert", cert, "--tls-key", keyFile}
}

// TestTLSWithoutBaseURL: the documents have https URLs, which work.
func TestTLSWithoutBaseURL(t *testing.T) {
	t.Parallel()
	s := start(t, sampleFolder(t), append(writeCertificate(t, t.TempDir(), time.Now().Add(20*24*time.Hour)), "--status", "127.0.0.1:0")...)
	uri := s.stdout.await(`Source +(\S+)`)[1]
	if !strings.HasPrefix(uri, "https://127.0.0.1:") {
		t.Fatalf("the Source is at %q", uri)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	res, err := client.Get(uri)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	if base := strings.TrimSuffix(uri, ".well-known/resourcesync"); !strings.Contains(string(body), "<loc>"+base) || strings.Contains(string(body), "<loc>http:") {
		t.Errorf("%s", body)
	}
}
