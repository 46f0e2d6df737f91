package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// runSets publishes the sets of a configuration file.
func runSets(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	r, err := parseRun("run", args)
	if err != nil {
		return err
	}
	c, err := r.load()
	if err != nil {
		return err
	}
	return publish(ctx, c, r.load, stdout, stderr)
}

// A runConfig is the command line of run and check-config: a configuration file, and
// settings that have priority over those in the file.
type runConfig struct {
	path  string
	given layer // on the command line, and in the environment
}

// runFlags returns the flags that run and check-config have in common: those of the site,
// and those of all sets, which are defaults for the sets.
func runFlags(command string, path *string, site *siteConfig, set *setSettings) *flag.FlagSet {
	flags := newFlags(command)
	flags.StringVar(path, "config", "", "")
	site.flags(flags)
	set.sharedFlags(flags)
	return flags
}

func parseRun(command string, args []string) (*runConfig, error) {
	r := &runConfig{given: make(layer)}
	flags := runFlags(command, &r.path, new(siteConfig), new(setSettings))
	recording := recorded(flags, r.given)
	others, err := parse(recording, args)
	switch {
	case err != nil:
	case len(others) > 1:
		err = fmt.Errorf("only one configuration file can be given: %q is one too many", others[1])
	case len(others) == 1:
		r.path = others[0]
	case r.path == "":
		err = missing(command, "config", requirement{"config", "the configuration file", "/etc/resourcesync/site.yaml", ""})
	}
	return r, refuse(command, err)
}

// recorded returns flags that set those given, and also record their values in a layer.
func recorded(flags *flag.FlagSet, l layer) *flag.FlagSet {
	recording := newFlags(flags.Name())
	flags.VisitAll(func(f *flag.Flag) { recording.Var(&recorder{f.Value, f.Name, l}, f.Name, "") })
	return recording
}

// A recorder is a flag.Value that records the values of another.
type recorder struct {
	flag.Value
	name string
	l    layer
}

func (r *recorder) Set(text string) error {
	if err := r.Value.Set(text); err != nil {
		return err
	}
	g := r.l[r.name]
	if !isRepeated(r.Value) {
		g.values = nil
	}
	g.values, g.from = append(g.values, text), "--"+r.name
	r.l[r.name] = g
	return nil
}

func (r *recorder) IsBoolFlag() bool {
	b, ok := r.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// load reads the configuration file, and checks it.
func (r *runConfig) load() (*siteConfig, error) {
	c, _, err := r.read()
	return c, err
}

// read is load, and also returns the effective settings.
func (r *runConfig) read() (*siteConfig, *effective, error) {
	file, err := readConfig(r.path)
	if err != nil {
		return nil, nil, err
	}
	var path string
	c, defaults := new(siteConfig), new(setSettings)
	flags := runFlags("run", &path, c, defaults)
	if err := checkKeys(file.top, flags); err != nil {
		return nil, nil, err
	}
	top := []layer{r.given, file.top} // r.given also has the environment
	applied, err := apply(flags, nil, top...)
	if err != nil {
		return nil, nil, usageError{err}
	}
	shared := newFlags("run")
	new(setSettings).sharedFlags(shared)
	e := &effective{site: effectiveSettings(flags, applied, shared)}
	if len(file.sets) == 0 {
		return nil, nil, usagef(`%s has no sets; give at least one, as in "sets: [{kind: folder, folder: /srv/files}]"`, file.name)
	}
	for _, section := range file.sets {
		set, settings, err := section.load(top)
		if err != nil {
			return nil, nil, err
		}
		c.sets, e.sets = append(c.sets, set), append(e.sets, settings)
	}
	if err := checkNames(c, file); err != nil {
		return nil, nil, err
	}
	if err := c.check(); err != nil {
		return nil, nil, usagef("%s: %w", file.name, err)
	}
	return c, e, nil
}

// identity are the settings of a set that are no flags.
var identity = []string{"kind", "name", "path"}

// load returns the configuration of a set. Settings that all sets have come from the layers
// of the site if they are not in the section.
func (s *setSection) load(top []layer) (setConfig, []effectiveSetting, error) {
	text := func(key string) string {
		if g := s.keys[key]; len(g.values) == 1 {
			return g.values[0]
		}
		return ""
	}
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	i := slices.Index(names, text("kind"))
	if i < 0 {
		if text("kind") == "" {
			for _, key := range sortedByPlace(s.keys) {
				if hint := didYouMean(key, identity[:1], ""); hint != "" {
					return nil, nil, usagef("%s: there is no setting of this name%s", s.keys[key].from, hint)
				}
			}
			return nil, nil, usagef("%s: a set without a kind; give kind: %s", s.from, strings.Join(names, ", "))
		}
		return nil, nil, usagef("%s: there is no kind %q%s; the kinds are %s", s.keys["kind"].from, text("kind"), didYouMean(text("kind"), names, ""), strings.Join(names, ", "))
	}
	k := kinds[i]
	set := k.create()
	shared := newFlags(k.command)
	set.common().sharedFlags(shared)
	flags := newFlags(k.command)
	set.common().sharedFlags(flags)
	set.flags(flags)
	if a, ok := set.(argued); ok {
		flags.StringVar(a.argument(), k.argument, "", "")
	}
	if err := checkKeys(s.keys, flags, identity...); err != nil {
		return nil, nil, err
	}
	defaults := make([]layer, 0, len(top))
	for _, l := range top {
		only := make(layer)
		shared.VisitAll(func(f *flag.Flag) {
			if g, ok := l[f.Name]; ok {
				only[f.Name] = g
			}
		})
		defaults = append(defaults, only)
	}
	applied, err := apply(flags, nil, append([]layer{s.keys}, defaults...)...)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if err := s.missingKey(k.name, set.required()); err != nil {
		return nil, nil, err
	}
	common := set.common()
	common.kind, common.name = k.name, text("name")
	if path := text("path"); path != "" {
		clean, ok := cleanPath(path)
		if !ok {
			return nil, nil, usagef("%s %q: give a path of letters, digits, '-', '_', '.' and '~', such as /papers/", s.keys["path"].from, path)
		}
		common.path = strings.TrimPrefix(clean, "/")
	}
	var settings []effectiveSetting
	for _, key := range identity {
		if value := text(key); value != "" {
			settings = append(settings, effectiveSetting{name: key, values: []string{value}})
		}
	}
	return set, append(settings, effectiveSettings(flags, applied)...), nil
}

// validName matches names of folders that need no escapes in URLs.
var validName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// checkNames returns an error for sets that cannot be told apart.
func checkNames(c *siteConfig, file *configFile) error {
	names, paths := make(map[string]bool), make(map[string]bool)
	for i, set := range c.sets {
		s, at := set.common(), file.sets[i].from
		switch {
		case s.name == "" && len(c.sets) > 1:
			return usagef("%s: a set without a name; give each a name, as in name: papers, because the documents of each have a folder of their own", at)
		case s.name != "" && !validName.MatchString(s.name):
			return usagef("%s: name %q: give letters, digits, '-', '_' and '.'", at, s.name)
		case names[s.name]:
			return usagef("%s: two sets have the name %q; give each its own", at, s.name)
		}
		names[s.name] = true
		p, serves := set.(pathServer)
		serves = serves && p.servesPath()
		switch {
		case !serves && s.path != "":
			return usagef("%s: a set of the kind %s has no path, because its resources are served elsewhere; remove the path", at, s.kind)
		case serves && paths[s.path]:
			return usagef("%s: two sets have the path /%s; give each its own, as in path: /papers/", at, s.path)
		}
		if serves {
			paths[s.path] = true
		}
	}
	return nil
}

// A pathServer is a setConfig whose resources may be served by this server.
type pathServer interface{ servesPath() bool }
