package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the maximum size of a configuration file, in bytes.
const maxFile = 1 << 20

// A File is a configuration file: settings, and a list of sections with settings of their own.
type File struct {
	Name     string // without folders, for messages
	Top      Layer
	Sections []Section

	faults Faults
}

// A Section is an element of the list "sets".
type Section struct {
	From string // where it is, for messages
	Keys Layer
}

// ReadFile reads a configuration file. Its errors name the line, and quote no values.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Errorf("configuration file %q: %w", path, Unreadable(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, Errorf("configuration file %q: %w", path, Unreadable(err))
	case len(text) > maxFile:
		return nil, Errorf("configuration file %q has more than %d bytes; is it a configuration file?", path, maxFile)
	}
	return ParseFile(filepath.Base(path), text)
}

// ParseFile parses the text of a configuration file.
func ParseFile(name string, text []byte) (*File, error) {
	f := &File{Name: name, Top: make(Layer)}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, Errorf("%s is empty; docs/configuration.md has an example", name)
	case err != nil:
		return nil, Errorf("%s is not YAML: %s; correct that line or the one before, and try \"resourcesync check-config\"", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if decoder.Decode(new(yaml.Node)) != io.EOF {
		return nil, Errorf("%s has more than one document; remove what follows the line ---", name)
	}
	f.read(doc.Content[0])
	return f, f.faults.Err()
}

func (f *File) read(root *yaml.Node) {
	f.pairs(root, func(key string, value *yaml.Node) {
		switch {
		case key != "sets":
			f.add(f.Top, key, value)
			return
		case value.Kind != yaml.SequenceNode:
			f.wrong(value, "sets is a list: begin each set with a dash, as in - kind: folder")
			return
		}
		for _, set := range value.Content {
			section := Section{f.at(set), make(Layer)}
			f.pairs(set, func(key string, value *yaml.Node) { f.add(section.Keys, key, value) })
			f.Sections = append(f.Sections, section)
		}
	})
}

// pairs calls each with the keys and values of a mapping.
func (f *File) pairs(m *yaml.Node, each func(key string, value *yaml.Node)) {
	if m.Kind == yaml.AliasNode {
		m = m.Alias
	}
	if m.Kind != yaml.MappingNode {
		f.wrong(m, "give lines of the form name: value")
		return
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		if line := seen[key.Value]; line != 0 {
			f.wrong(key, "duplicate key %s (first on line %d)", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		each(key.Value, value)
	}
}

// add adds a value or a list of values to a layer.
func (f *File) add(to Layer, key string, value *yaml.Node) {
	g := Given{from: f.at(value) + ": " + key, line: value.Line}
	values := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		values = value.Content
	}
	for _, v := range values {
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		switch {
		case v.Kind != yaml.ScalarNode:
			f.wrong(v, "%s has a value or a list of values, and nothing else", key)
		case v.Tag == "!!null":
			f.wrong(v, "%s has no value; give one, or remove the line", key)
		}
		g.values = append(g.values, v.Value)
	}
	to[key] = g
}

// at returns the place of a node, for messages.
func (f *File) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.Name, n.Line) }

func (f *File) wrong(n *yaml.Node, format string, args ...any) {
	f.faults.Add(Errorf("%s: %s", f.at(n), fmt.Sprintf(format, args...)))
}

// CheckKeys returns an error if a layer of a file has settings that are not in the catalog, or
// several values for a setting that takes one. belongs returns the place of a setting that is
// in the wrong place; "" if the setting is unknown.
func (c *Catalog) CheckKeys(l Layer, belongs func(key string) string) error {
	var faults Faults
	for _, key := range l.sorted() {
		g, s := l[key], c.Lookup(key)
		switch {
		case s == nil && belongs(key) != "":
			faults.Add(Errorf("%s belongs %s", g.from, belongs(key)))
		case s == nil:
			faults.Add(Errorf("%s: unknown setting%s", g.from, DidYouMean(key, c.names(), "")))
		case len(g.values) != 1 && !s.IsRepeated():
			faults.Add(Errorf("%s takes one value", g.from))
		}
	}
	return faults.Err()
}

func (c *Catalog) names() (names []string) {
	for _, s := range c.all {
		names = append(names, s.Name)
	}
	return names
}

// sorted returns the names in a layer of a file, in the order of their lines.
func (l Layer) sorted() []string {
	names := make([]string, 0, len(l))
	for name := range l {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(l[a].line, l[b].line), cmp.Compare(a, b)) })
	return names
}

// FindKind returns the kind that the section states, which must be one of kinds.
func (s Section) FindKind(kinds []string) (string, error) {
	kind := s.Keys.Value("kind")
	if slices.Contains(kinds, kind) {
		return kind, nil
	}
	if kind != "" {
		return "", Errorf("%s: unknown kind %q%s; the kinds are %s", s.Keys["kind"].from, kind, DidYouMean(kind, kinds, ""), strings.Join(kinds, ", "))
	}
	for _, key := range s.Keys.sorted() {
		if hint := DidYouMean(key, []string{"kind"}, ""); hint != "" {
			return "", Errorf("%s: unknown setting%s", s.Keys[key].from, hint)
		}
	}
	return "", Errorf("%s: a set without a kind; give kind: %s", s.From, strings.Join(kinds, ", "))
}

// MissingKey returns an error for the first setting that needs a value and has none, or nil.
func (s Section) MissingKey(kind string, c *Catalog) error {
	missing := c.missing()
	if missing == nil {
		return nil
	}
	return Errorf("%s: a set of the kind %s has no %s; add %s, as in %s: %s", s.From, kind, missing.Name, missing.Need, missing.Name, keyWord(missing.Example))
}
