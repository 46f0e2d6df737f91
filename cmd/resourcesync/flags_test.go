package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestFolderThatLooksLikeAFlag(t *testing.T) {
	if c, err := parseServe([]string{"--sitemap", "--", "-folder"}); err != nil || !strings.Contains(string(c.Effective()), "folder: -folder\n") {
		t.Errorf("%v, %v", c, err)
	}
}

// TestOneMeaning: a flag has the same type in all commands, because one variable sets all of
// them. Flags with values of the same form begin with the same words in every help.
func TestOneMeaning(t *testing.T) {
	types, meanings := make(map[string]string), make(map[string]string)
	for _, c := range commands() {
		if c.catalog == nil {
			continue
		}
		for s := range c.catalog().All() {
			got := fmt.Sprintf("%T", s.Value)
			if before, ok := types[s.Name]; ok && before != got {
				t.Errorf("%s --%s is a %s, elsewhere a %s", c.name, s.Name, got, before)
			}
			types[s.Name] = got
			switch s.Name {
			case "rate", "uri", "concurrency", "allow-addresses", "ignore-robots", "log-format", "db", "key":
				if before, ok := meanings[s.Name]; ok && before != s.Summary() {
					t.Errorf("%s --%s: %s; elsewhere: %s", c.name, s.Name, s.Summary(), before)
				}
				meanings[s.Name] = s.Summary()
			}
		}
	}
}
