package main

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/server"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// checkHere checks the configuration against this computer.
func (c *siteConfig) checkHere() error {
	var faults settings.Faults
	faults.Add(c.Verify())
	if c.state != "" && !c.stateIsPostgres() {
		path, err := c.stateFile()
		if err == nil {
			if err = state.CheckFile(path); err != nil {
				err = state.Refuse(path, err)
			}
		}
		faults.Add(err)
	}
	faults.Add(c.checkSource())
	return faults.Err()
}

// checkSource returns an error if no Source can have sets with these names.
func (c *siteConfig) checkSource() error {
	var sets []rshttp.Set
	for _, set := range c.sets {
		sets = append(sets, rshttp.Set{Name: set.Shared().Name, Provider: memory.New(nil), RemoteHubs: c.push.foreign})
	}
	base := c.baseURL
	if base == "" {
		host, port, err := net.SplitHostPort(c.listen)
		if ip, ipErr := netip.ParseAddr(host); err == nil && (host == "" || ipErr == nil && ip.IsUnspecified()) {
			return c.errAllAddresses(port)
		}
		base = c.scheme() + "://127.0.0.1/"
	}
	if _, err := rshttp.New(strings.TrimSuffix(base, "/")+c.prefix, sets, &rshttp.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return settings.Errorf("%w", err)
	}
	return nil
}

func (c *siteConfig) errAllAddresses(port string) error {
	return settings.Errorf("--listen %s accepts connections at all addresses; give the public one, as in --base-url %s://files.example.org:%s/", c.listen, c.scheme(), port)
}

// Verify checks the configuration against this computer.
func (c *siteConfig) Verify() error {
	var faults settings.Faults
	if c.tlsCert != "" {
		_, err := server.NewCertificate(c.tlsCert, c.tlsKey)
		faults.Add(err)
	}
	for i, set := range c.sets {
		if v, ok := set.(verifier); ok {
			faults.Add(c.catalogs[i].Locate(v.Verify()))
		}
	}
	return faults.Err()
}

// A verifier is a origin.Config that can be checked against this computer.
type verifier interface {
	// Verify returns a [settings.Fault], for example if a folder does not exist. It changes
	// nothing, and sends no requests.
	Verify() error
}
