package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// printed returns the texts that explain how to run the program.
func printed(t *testing.T) []string {
	t.Helper()
	names := []string{"../../README.md"}
	must(t, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			names = append(names, path)
		}
		return err
	}))
	return names
}

var (
	lines       = regexp.MustCompile(`(?m)^(?:\./|ExecStart=/usr/local/bin/)?resourcesync ([a-z].*)$`)
	quoted      = regexp.MustCompile("`resourcesync ([a-z][^`\n]*)`")
	words       = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
	quotedFlags = regexp.MustCompile("`--([a-z-]+)")
)

// complete are the commands whose examples in the documents have all their arguments.
var complete = map[string]func(args []string) error{
	"serve":    func(args []string) error { _, err := parseServe(args); return err },
	"proxy":    func(args []string) error { _, err := parseProxy(args); return err },
	"table":    func(args []string) error { _, err := parseSite("table", kindOf("table"), args); return err },
	"replica":  func(args []string) error { _, err := parseSite("replica", kindOf("replica"), args); return err },
	"bucket":   func(args []string) error { _, err := parseSite("bucket", kindOf("bucket"), args); return err },
	"triggers": func(args []string) error { _, err := parseTriggers(args); return err },
	"mirror":   func(args []string) error { _, err := parseMirror(args); return err },
	"check":    func(args []string) error { _, err := parseCheck(args); return err },
}

// The program accepts the commands that the documents tell the reader to type.
func TestPrintedCommands(t *testing.T) {
	n := 0
	for _, name := range printed(t) {
		text := strings.ReplaceAll(read(t, name), "\\\n", "")
		for _, call := range lines.FindAllStringSubmatch(text, -1) {
			n++
			command, args := arguments(call[1])
			check := complete[command]
			if check == nil {
				check = func(args []string) error { return knownFlags(command, args) }
			}
			if err := check(args); err != nil {
				t.Errorf("%s: %s: %v", name, call[0], err)
			}
		}
		for _, call := range quoted.FindAllStringSubmatch(text, -1) {
			n++
			if err := knownFlags(arguments(call[1])); err != nil {
				t.Errorf("%s: %s: %v", name, call[0], err)
			}
		}
	}
	if n < 30 {
		t.Errorf("%d commands found", n)
	}
}

// arguments splits a command line as a shell does, up to a pipe or a redirection.
func arguments(line string) (command string, args []string) {
	args = words.FindAllString(line, -1)
	for i := range args {
		if strings.ContainsAny(args[i][:1], "|>&#") {
			args = args[:i]
			break
		}
		args[i] = strings.Trim(args[i], `'"`)
	}
	return args[0], args[1:]
}

// knownFlags returns an error if the command does not exist or lacks one of the flags.
func knownFlags(name string, args []string) error {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return fmt.Errorf("unknown command %s", name)
	}
	for _, arg := range args {
		arg, isFlag := strings.CutPrefix(arg, "--")
		arg, _, _ = strings.Cut(arg, "=")
		if isFlag && arg != "help" && arg != "help-all" && (all[i].catalog == nil || all[i].catalog().Lookup(arg) == nil) {
			return fmt.Errorf("%s has no flag --%s", name, arg)
		}
	}
	return nil
}

func TestPrintedFlagsExist(t *testing.T) {
	known := map[string]bool{"help": true, "help-all": true, "baseline": true, "from": true, "incremental": true, "spec-version": true} // the latter belong to the reference client
	for _, c := range commands() {
		if c.catalog == nil {
			continue
		}
		for s := range c.catalog().Flags() {
			known[s.Name] = true
		}
	}
	n := 0
	for _, name := range printed(t) {
		for _, found := range quotedFlags.FindAllStringSubmatch(read(t, name), -1) {
			n++
			if !known[found[1]] {
				t.Errorf("%s: unknown flag --%s", name, found[1])
			}
		}
	}
	if n < 40 {
		t.Errorf("%d flags found", n)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}
