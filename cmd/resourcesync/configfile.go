package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxConfig is the maximum size of a configuration file, in bytes.
const maxConfig = 1 << 20

// A configFile is a configuration file: the settings of the site, which have the names of
// flags, and those of each set.
type configFile struct {
	name string // without folders, for messages
	top  layer
	sets []setSection
}

// A setSection is a set in a configuration file.
type setSection struct {
	from string // where it is, for messages
	keys layer
}

// readConfig reads a configuration file. Its errors name the line, and quote no values.
func readConfig(path string) (*configFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("configuration file %q: %w", path, unreadable(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return nil, usagef("configuration file %q: %w", path, unreadable(err))
	case len(text) > maxConfig:
		return nil, usagef("configuration file %q has more than %d bytes; is it one?", path, maxConfig)
	}
	return parseConfig(filepath.Base(path), text)
}

// parseConfig parses the text of a configuration file.
func parseConfig(name string, text []byte) (*configFile, error) {
	c := &configFile{name: name, top: make(layer)}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, usagef("%s is empty; docs/configuration.md has an example", name)
	case err != nil:
		return nil, usagef("%s is not YAML: %s; correct that line or the one before, and try \"resourcesync check-config\"", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if decoder.Decode(new(yaml.Node)) != io.EOF {
		return nil, usagef("%s has more than one document; remove what follows the line ---", name)
	}
	return c, c.read(doc.Content[0])
}

func (c *configFile) read(root *yaml.Node) error {
	return c.pairs(root, func(key string, value *yaml.Node) error {
		if key != "sets" {
			return c.add(c.top, key, value)
		}
		if value.Kind != yaml.SequenceNode {
			return c.wrong(value, "sets is a list: begin each set with a dash, as in - kind: folder")
		}
		for _, set := range value.Content {
			section := setSection{from: c.at(set), keys: make(layer)}
			err := c.pairs(set, func(key string, value *yaml.Node) error { return c.add(section.keys, key, value) })
			if err != nil {
				return err
			}
			c.sets = append(c.sets, section)
		}
		return nil
	})
}

// pairs calls each with the keys and values of a mapping.
func (c *configFile) pairs(m *yaml.Node, each func(key string, value *yaml.Node) error) error {
	if m.Kind == yaml.AliasNode {
		m = m.Alias
	}
	if m.Kind != yaml.MappingNode {
		return c.wrong(m, "give lines of the form name: value")
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		if line := seen[key.Value]; line != 0 {
			return c.wrong(key, "%s stands in line %d already", key.Value, line)
		}
		seen[key.Value] = key.Line
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if err := each(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// add adds a value or a list of values to a layer.
func (c *configFile) add(to layer, key string, value *yaml.Node) error {
	g := given{from: c.at(value) + ": " + key, line: value.Line}
	values := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		values = value.Content
	}
	for _, v := range values {
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		if v.Kind != yaml.ScalarNode {
			return c.wrong(v, "%s has a value or a list of values, and nothing else", key)
		}
		if v.Tag == "!!null" {
			return c.wrong(v, "%s has no value; give one, or remove the line", key)
		}
		g.values = append(g.values, v.Value)
	}
	to[key] = g
	return nil
}

// at returns the place of a node, for messages.
func (c *configFile) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", c.name, n.Line) }

func (c *configFile) wrong(n *yaml.Node, format string, args ...any) error {
	return usagef("%s: %s", c.at(n), fmt.Sprintf(format, args...))
}

// checkKeys returns an error for the first setting of a layer that has no flag, or several
// values for a flag that takes one.
func checkKeys(l layer, flags *flag.FlagSet, others ...string) error {
	names := slices.Clone(others)
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	for _, key := range sortedByPlace(l) {
		g := l[key]
		if !slices.Contains(names, key) {
			return usagef("%s: there is no setting of this name%s", g.from, didYouMean(key, names, ""))
		}
		f := flags.Lookup(key)
		if len(g.values) != 1 && (f == nil || !isRepeated(f.Value)) {
			return usagef("%s takes one value", g.from)
		}
	}
	return nil
}

// sortedByPlace returns the names in a layer of a file, in the order of their lines.
func sortedByPlace(l layer) []string {
	names := make([]string, 0, len(l))
	for name := range l {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Compare(l[a].line, l[b].line)
	})
	return names
}
