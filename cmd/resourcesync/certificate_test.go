package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/server"
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
	s.stderr.await("expires in 19 days")
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
	status := s.stderr.await(`status for operators" url=(\S+)`)[1]
	metrics, err := http.Get(status + "metrics")
	must(t, err)
	defer metrics.Body.Close()
	if body, err = io.ReadAll(metrics.Body); err != nil || !strings.Contains(string(body), "\nresourcesync_certificate_expiry_timestamp_seconds ") {
		t.Errorf("%v: %s", err, body)
	}
	if _, page := (&served{t: t}).getAs(status, "", browserAccept); !strings.Contains(page, "expires in 19 days") {
		t.Errorf("no certificate in %s", page)
	}
	if _, stdout, _ := query(t, status); !regexp.MustCompile(`  Certificate +expires in 19 days \(.*\)\n`).MatchString(stdout) {
		t.Errorf("no certificate in %s", stdout)
	}
}

// TestCertificateExpires follows a certificate until it has expired and is renewed.
func TestCertificateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const days = 24 * time.Hour
		folder, began := t.TempDir(), time.Now()
		flags := writeCertificate(t, folder, began.Add(40*days))
		c, err := server.NewCertificate(flags[1], flags[3])
		must(t, err)
		var log strings.Builder
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Watch(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		check := func(after time.Duration, healthy bool, want ...string) {
			t.Helper()
			time.Sleep(time.Until(began.Add(after + time.Minute)))
			synctest.Wait()
			if err := c.Health(); (err == nil) != healthy {
				t.Errorf("after %v: %v", after, err)
			}
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if last := lines[len(lines)-1]; len(want) > 0 && !strings.Contains(last, want[0]) || len(want) == 0 && last != "" {
				t.Errorf("after %v: %s", after, last)
			}
		}
		check(9*days, true)
		check(11*days, true, "level=WARN")
		check(39*days, true, "level=WARN")
		if n := strings.Count(log.String(), "\n"); n < 25 || n > 31 {
			t.Errorf("%d lines in 29 days", n)
		}
		check(40*days+time.Hour, false, "level=ERROR")
		writeCertificate(t, folder, began.Add(130*days))
		must(t, os.Chtimes(flags[1], time.Time{}, time.Now()))
		check(40*days+3*time.Hour, true, "has been renewed")
	})
}
