package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// declareRun adds the settings that can be at the top of a file: the settings of the site, and
// the settings of all sets, as defaults for the sets.
func declareRun(c *settings.Catalog, s *siteConfig, set *setSettings) {
	s.declare(c)
	set.declare(c)
}

// loadFile reads a configuration file, and checks it. The given layers have priority. Its errors are
// all faults of the file.
func loadFile(path string, given []settings.Layer) (*siteConfig, error) {
	file, err := settings.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &siteConfig{catalog: new(settings.Catalog), file: path}
	declareRun(c.catalog, c, new(setSettings))
	layers := append(slices.Clone(given), file.Top)
	var faults settings.Faults
	faults.Add(c.catalog.CheckKeys(file.Top, inSets), c.catalog.Apply(layers...))
	if len(file.Sections) == 0 {
		faults.Add(settings.Errorf(`%s has no sets; give at least one, as in "sets: [{kind: folder, folder: /srv/files}]"`, file.Name))
	}
	for _, section := range file.Sections {
		set, catalog, err := loadSet(section, layers)
		faults.Add(err)
		if set != nil {
			c.sets, c.catalogs = append(c.sets, set), append(c.catalogs, catalog)
		}
	}
	if len(faults) == 0 { // otherwise one fault could cause more
		faults.Add(c.checkNames(file), c.check())
	}
	return c, faults.Err()
}

// inSets names the kinds of sets that have a setting. It returns "" if none has it.
func inSets(key string) string {
	for _, k := range kinds {
		if k.own().Lookup(key) != nil {
			return "in a set of kind: " + k.name + ", in the list sets"
		}
	}
	return ""
}

// loadSet returns the configuration of a set. Settings that all sets have come from the layers
// of the site if they are not in the section. The set is nil if it has a fault.
func loadSet(s settings.Section, top []settings.Layer) (setConfig, *settings.Catalog, error) {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	name, err := s.FindKind(names)
	if err != nil {
		return nil, nil, err
	}
	set := kinds[slices.Index(names, name)].create()
	common, c := set.shared(), new(settings.Catalog)
	c.Add(
		settings.Setting{Name: "kind", Value: settings.Text(&common.kind), Key: true},
		settings.Setting{Name: "name", Value: settings.Text(&common.name), Key: true},
		settings.Setting{Name: "path", Value: settings.Text(&common.path), Key: true},
	)
	common.about.declare(c, true)
	common.declare(c)
	set.declare(c)
	layers := []settings.Layer{s.Keys}
	for _, l := range top {
		layers = append(layers, c.Shared(l))
	}
	var faults settings.Faults
	faults.Add(c.CheckKeys(s.Keys, elsewhere), c.Apply(layers...))
	if len(faults) == 0 {
		faults.Add(s.MissingKey(name, c))
	}
	if common.path != "" {
		clean, ok := cleanPath(common.path)
		if !ok {
			faults.Add(c.Locate(settings.Fault("path", "give a path of letters, digits, '-', '_', '.' and '~', such as /papers/")))
		}
		common.path = strings.TrimPrefix(clean, "/")
	}
	if len(faults) > 0 {
		return nil, nil, faults
	}
	return set, c, nil
}

// elsewhere names the place of a setting that a set does not have. It returns "" for an
// unknown one.
func elsewhere(key string) string {
	site := new(settings.Catalog)
	new(siteConfig).declare(site)
	if site.Lookup(key) != nil {
		return "at the top of the file, not in a set"
	}
	return inSets(key)
}

// validName matches names of folders that need no escapes in URLs.
var validName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// checkNames returns an error for sets with the same name or path.
func (c *siteConfig) checkNames(file *settings.File) error {
	var all settings.Faults
	names, paths := make(map[string]bool), make(map[string]bool)
	for i, set := range c.sets {
		var f settings.Faults
		s := set.shared()
		if s.name == "" && len(c.sets) > 1 {
			f.Add(settings.Errorf("%s: a set without a name; give each a name, as in name: papers, because the documents of each have a folder of their own", file.Sections[i].From))
		} else {
			f.If(s.name != "" && !validName.MatchString(s.name), "name", "give letters, digits, '-', '_' and '.'")
			f.If(s.name+"/" == callbackPath, "name", "the URLs of notifications from hubs have this name; give another one")
			f.If(names[s.name], "name", "two sets have this name; give each its own")
		}
		names[s.name] = true
		p, serves := set.(pathServer)
		serves = serves && p.servesPath()
		f.If(!serves && s.path != "", "path", "a set of the kind %s has no path, because its resources are served elsewhere; remove the path", s.kind)
		if serves && paths[s.path] {
			f.Add(settings.Errorf("%s: two sets have the path /%s; give each its own, as in path: /papers/", file.Sections[i].From, s.path))
		}
		paths[s.path] = paths[s.path] || serves
		all.Add(c.catalogs[i].Locate(f.Err()))
	}
	return all.Err()
}

// A pathServer is a setConfig whose resources may be served by this server.
type pathServer interface{ servesPath() bool }
