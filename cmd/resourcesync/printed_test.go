package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

// printed are the texts that say how the program is called.
var printed = []string{"../../README.md", "../../docs/howto.md", "../../docs/operations.md", "../../docs/security.md", "../../docs/sidecar.md"}

var (
	calls       = regexp.MustCompile(`(?m)^(?:    |ExecStart=/usr/local/bin/)resourcesync (serve|proxy|triggers) (.*)$`)
	words       = regexp.MustCompile(`'[^']*'|\S+`)
	quotedFlags = regexp.MustCompile("`--([a-z-]+)")
)

// What the documents tell the reader to type is understood.
func TestPrintedCommands(t *testing.T) {
	n := 0
	for _, name := range printed {
		for _, call := range calls.FindAllStringSubmatch(strings.ReplaceAll(read(t, name), "\\\n", ""), -1) {
			n++
			args := words.FindAllString(call[2], -1)
			for i := range args {
				args[i] = strings.Trim(args[i], "'")
			}
			var err error
			switch call[1] {
			case "serve":
				_, err = parseServe(args)
			case "proxy":
				_, err = parseProxy(args)
			case "triggers":
				_, err = parseTriggers(args)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", name, call[0], err)
			}
		}
	}
	if n < 5 {
		t.Errorf("%d commands found", n)
	}
}

func TestPrintedFlagsExist(t *testing.T) {
	known := map[string]bool{"baseline": true, "from": true, "spec-version": true} // of the reference client
	for _, flags := range []*flag.FlagSet{serveFlags(new(serveConfig)), proxyFlags(new(proxyConfig)), triggersFlags(new(triggersConfig))} {
		flags.VisitAll(func(f *flag.Flag) { known[f.Name] = true })
	}
	n := 0
	for _, name := range printed {
		for _, found := range quotedFlags.FindAllStringSubmatch(read(t, name), -1) {
			n++
			if !known[found[1]] {
				t.Errorf("%s: there is no flag --%s", name, found[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("%d flags found", n)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}
