package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// checkConfigFile checks a configuration file without publishing anything, and prints the
// effective configuration, or all faults.
func checkConfigFile(_ context.Context, args []string, stdout, stderr io.Writer) error {
	r, err := parseRun("check-config", args)
	if err != nil {
		return err
	}
	c, err := r.load()
	if err == nil {
		err = c.checkHere()
	}
	if faults, ok := errors.AsType[settings.Faults](err); ok && !exit.Passes(err) {
		for _, fault := range faults {
			fmt.Fprintln(stderr, "resourcesync:", fault)
		}
		return settings.Errorf("%s has %s", filepath.Base(r.path), counted(len(faults), "fault"))
	}
	if err != nil {
		return err
	}
	for _, name := range settings.UnknownVariables(knownVariables()) {
		fmt.Fprintf(stderr, "resourcesync: the environment variable %s matches no flag\n", name)
	}
	_, err = fmt.Fprintf(stdout, "%s# OK\n", c.effective())
	return err
}

// counted formats a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return terminal.Count(int64(n), thing+"s")
}

// checkHere checks the configuration against this computer.
func (c *siteConfig) checkHere() error {
	var faults settings.Faults
	faults.Add(c.verify())
	if c.state != "" && !c.stateIsPostgres() {
		path, err := c.stateFile()
		if err == nil {
			if err = checkStateFile(path); err != nil {
				err = refuseState(path, err)
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
		sets = append(sets, rshttp.Set{Name: set.common().name, Provider: memory.New(nil), RemoteHubs: c.push.foreign})
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

// effective returns the effective configuration as a file, with defaults and without
// secrets.
func (c *siteConfig) effective() []byte {
	shared := new(settings.Catalog)
	new(setSettings).declare(shared)
	var sets []*yaml.Node
	for _, set := range c.catalogs {
		sets = append(sets, set.Effective(nil))
	}
	return settings.FileText(c.catalog.Effective(shared), sets)
}
