package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// helpText returns what "resourcesync COMMAND --help" prints. The file of a command that
// publishes a kind of set explains its own flags, and others that have another meaning or
// default there; that of serve explains those that all of them have. The same is true for
// build.
func helpText(name string) (string, error) {
	text, err := help.ReadFile("help/" + name + ".txt")
	if err != nil || name == "serve" || name != "build" && !publishes(name) {
		return string(text), err
	}
	shared, err := help.ReadFile("help/serve.txt")
	if err != nil {
		return "", err
	}
	head, own := flagTexts(string(text))
	_, texts := flagTexts(string(shared))
	all := commands()
	flags := all[slices.IndexFunc(all, func(c command) bool { return c.name == name })].flags()
	maps.DeleteFunc(texts, func(flag, _ string) bool { return flags.Lookup(flag) == nil })
	maps.Copy(texts, own)
	for _, flag := range slices.Sorted(maps.Keys(texts)) {
		head += texts[flag]
	}
	return head, nil
}

// publishes reports whether a command has the flags of the site.
func publishes(command string) bool {
	return command == "run" || command == "check-config" || slices.ContainsFunc(kinds, func(k kind) bool { return k.command == command })
}

// flagText matches the text about a flag.
var flagText = regexp.MustCompile(`(?m)^  --([a-z-]+)\n(?:        .*\n)+`)

// flagTexts splits a help text into the text before the flags, and the text about each.
func flagTexts(text string) (head string, texts map[string]string) {
	const begin = "\nFlags:\n"
	head, list, _ := strings.Cut(text, begin)
	texts = make(map[string]string)
	for _, m := range flagText.FindAllStringSubmatch(list, -1) {
		texts[m[1]] = m[0]
	}
	return head + begin, texts
}
