package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// checkConfigFile checks a configuration file without publishing anything, and prints what is
// in force.
func checkConfigFile(_ context.Context, args []string, stdout, stderr io.Writer) error {
	r, err := parseRun("check-config", args)
	if err != nil {
		return err
	}
	c, e, err := r.read()
	if err != nil {
		return err
	}
	if err := c.verify(); err != nil {
		return err
	}
	if c.state != "" && !c.stateIsPostgres() {
		path, err := c.stateFile()
		if err != nil {
			return err
		}
		if err := checkStateFile(path); err != nil {
			return refuseState(path, err)
		}
	}
	if err := c.checkSource(); err != nil {
		return err
	}
	for _, name := range unknownVariables(knownVariables()) {
		fmt.Fprintf(stderr, "resourcesync: the environment variable %s is that of no flag\n", name)
	}
	_, err = stdout.Write(e.text())
	return err
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
		return usageError{err}
	}
	return nil
}

// An effective configuration has all settings that are not empty, with masked secrets.
type effective struct {
	site []effectiveSetting
	sets [][]effectiveSetting
}

// An effectiveSetting is the value of a flag, or several if it may be repeated.
type effectiveSetting struct {
	name   string
	values []string
	many   bool
}

// effectiveSettings returns the settings of flags of which some have been applied, without
// those in other flags.
func effectiveSettings(flags *flag.FlagSet, applied layer, without ...*flag.FlagSet) []effectiveSetting {
	var all []effectiveSetting
	flags.VisitAll(func(f *flag.Flag) {
		if slices.ContainsFunc(without, func(other *flag.FlagSet) bool { return other.Lookup(f.Name) != nil }) {
			return
		}
		s := effectiveSetting{name: f.Name, many: isRepeated(f.Value)}
		g, given := applied[f.Name]
		_, isSecret := f.Value.(*secret)
		switch {
		case !given && f.DefValue == "":
			return
		case !given:
			s.values = []string{f.DefValue}
		case isSecret:
			s.values = []string{f.Value.String()}
		default:
			for _, value := range g.values {
				s.values = append(s.values, withoutToken(value))
			}
		}
		all = append(all, s)
	})
	return all
}

// withoutToken returns a text without the token in it, if it is the address of a hub.
func withoutToken(text string) string {
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return text
	}
	return withoutPassword(text)
}

// text returns the configuration as a file.
func (e *effective) text() []byte {
	root := mapping(e.site)
	sets := &yaml.Node{Kind: yaml.SequenceNode}
	for _, set := range e.sets {
		sets.Content = append(sets.Content, mapping(set))
	}
	root.Content = append(root.Content, text("sets"), sets)
	out, err := yaml.Marshal(root)
	if err != nil {
		panic(err) // nodes with texts can be written
	}
	return out
}

func mapping(settings []effectiveSetting) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range settings {
		value := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, v := range s.values {
			value.Content = append(value.Content, text(v))
		}
		if !s.many {
			value = value.Content[0]
		}
		m.Content = append(m.Content, text(s.name), value)
	}
	return m
}

// text returns a node that is written without quotes if it can be read in the same way.
func text(value string) *yaml.Node {
	var n yaml.Node
	if yaml.Unmarshal([]byte(value), &n) == nil && len(n.Content) == 1 && n.Content[0].Kind == yaml.ScalarNode && n.Content[0].Value == value && n.Content[0].Tag != "!!null" {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Content[0].Tag, Value: value}
	}
	n = yaml.Node{}
	n.SetString(value)
	return &n
}
