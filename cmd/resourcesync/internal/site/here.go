package site

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

// CheckHere checks the configuration against this computer.
func (c *Config) CheckHere() error {
	var faults settings.Faults
	faults.Add(c.Verify())
	if c.State != "" && !c.StateIsPostgres() {
		path, err := c.StateFile()
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
func (c *Config) checkSource() error {
	var sets []rshttp.Set
	for _, set := range c.Sets {
		sets = append(sets, rshttp.Set{Name: set.Shared().Name, Provider: memory.New(nil), RemoteHubs: c.Push.Foreign})
	}
	base := c.BaseURL
	if base == "" {
		host, port, err := net.SplitHostPort(c.Listen)
		if ip, ipErr := netip.ParseAddr(host); err == nil && (host == "" || ipErr == nil && ip.IsUnspecified()) {
			return c.ErrAllAddresses(port)
		}
		base = c.Scheme() + "://127.0.0.1/"
	}
	if _, err := rshttp.New(strings.TrimSuffix(base, "/")+c.Prefix, sets, &rshttp.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return settings.Errorf("%w", err)
	}
	return nil
}

func (c *Config) ErrAllAddresses(port string) error {
	return settings.Errorf("--listen %s accepts connections at all addresses; give the public one, as in --base-url %s://files.example.org:%s/", c.Listen, c.Scheme(), port)
}

// Verify checks the configuration against this computer.
func (c *Config) Verify() error {
	var faults settings.Faults
	if c.TlsCert != "" {
		_, err := server.NewCertificate(c.TlsCert, c.TlsKey)
		faults.Add(err)
	}
	for i, set := range c.Sets {
		if v, ok := set.(verifier); ok {
			faults.Add(c.Catalogs[i].Locate(v.Verify()))
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
