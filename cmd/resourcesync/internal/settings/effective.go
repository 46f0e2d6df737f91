package settings

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Effective returns the settings that have a value as a mapping of YAML, without secrets
// and without the settings in except. A comment at its end says what happens without the others.
func (c *Catalog) Effective(except *Catalog) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	var without []string
	byKeys := slices.SortedStableFunc(c.All(), func(a, b *Setting) int { return cmp.Compare(order(a), order(b)) })
	for _, s := range byKeys {
		values := s.given.values
		if len(values) == 0 && s.Default != "" && !s.given.inFile {
			values = []string{s.Default}
		}
		if except != nil && except.Lookup(s.Name) != nil {
			continue
		}
		if len(values) == 0 {
			if s.Without != "" && s.Without != "none" && !s.given.inFile {
				without = append(without, s.Name+": "+s.Without)
			}
			continue
		}
		node := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, v := range values {
			if s.Show != nil {
				v = s.Show(v)
			}
			node.Content = append(node.Content, scalar(v))
		}
		if !s.IsRepeated() {
			node = node.Content[0]
		}
		m.Content = append(m.Content, scalar(s.Name), node)
	}
	if n := len(m.Content); n > 0 && len(without) > 0 {
		m.Content[n-2].FootComment = "By default:\n" + strings.Join(without, "\n")
	}
	return m
}

// order puts settings first that only files have, such as names.
func order(s *Setting) int {
	if s.Key {
		return 0
	}
	return 1
}

// scalar returns a node that is written without quotes if it is parsed the same way.
func scalar(value string) *yaml.Node {
	var n yaml.Node
	if yaml.Unmarshal([]byte(value), &n) == nil && len(n.Content) == 1 && n.Content[0].Kind == yaml.ScalarNode && n.Content[0].Value == value && n.Content[0].Tag != "!!null" {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Content[0].Tag, Value: value}
	}
	n = yaml.Node{}
	n.SetString(value)
	return &n
}

// FileText returns the text of a configuration file that consists of a mapping and the
// mappings of its sections.
func FileText(top *yaml.Node, sections []*yaml.Node) []byte {
	top.Content = append(top.Content, scalar("sets"), &yaml.Node{Kind: yaml.SequenceNode, Content: sections})
	out, err := yaml.Marshal(top)
	if err != nil {
		panic(err) // nodes with texts can be written
	}
	return out
}
