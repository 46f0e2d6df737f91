package site

import (
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// Declare adds the settings that can be at the top of a file: the settings of the site, and
// the settings of all sets, as defaults for the sets.
func Declare(c *settings.Catalog, s *Config, set *origin.Common) {
	s.Declare(c)
	set.Declare(c)
}

// Load reads a configuration file, and checks it. The given layers have priority. Its errors are
// all faults of the file.
func Load(path string, given []settings.Layer) (*Config, error) {
	file, err := settings.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &Config{Catalog: new(settings.Catalog), File: path}
	Declare(c.Catalog, c, new(origin.Common))
	layers := append(slices.Clone(given), file.Top)
	var faults settings.Faults
	faults.Add(c.Catalog.CheckKeys(file.Top, inSets), c.Catalog.Apply(layers...))
	if len(file.Sections) == 0 {
		faults.Add(settings.Errorf(`%s has no sets; give at least one, as in "sets: [{kind: folder, folder: /srv/files}]"`, file.Name))
	}
	for _, section := range file.Sections {
		set, catalog, err := loadSet(section, layers)
		faults.Add(err)
		if set != nil {
			c.Sets, c.Catalogs = append(c.Sets, set), append(c.Catalogs, catalog)
		}
	}
	if len(faults) == 0 { // otherwise one fault could cause more
		faults.Add(c.checkNames(file), c.Check())
	}
	return c, faults.Err()
}

// inSets names the kinds of sets that have a setting. It returns "" if none has it.
func inSets(key string) string {
	for _, k := range origin.Kinds {
		if k.Own().Lookup(key) != nil {
			return "in a set of kind: " + k.Name + ", in the list sets"
		}
	}
	return ""
}

// loadSet returns the configuration of a set. Settings that all sets have come from the layers
// of the site if they are not in the section. The set is nil if it has a fault.
func loadSet(s settings.Section, top []settings.Layer) (origin.Config, *settings.Catalog, error) {
	var names []string
	for _, k := range origin.Kinds {
		names = append(names, k.Name)
	}
	name, err := s.FindKind(names)
	if err != nil {
		return nil, nil, err
	}
	set := origin.Kinds[slices.Index(names, name)].Create()
	common, c := set.Shared(), new(settings.Catalog)
	c.Add(
		settings.Setting{Name: "kind", Value: settings.Text(&common.Kind), Key: true},
		settings.Setting{Name: "name", Value: settings.Text(&common.Name), Key: true},
		settings.Setting{Name: "path", Value: settings.Text(&common.Path), Key: true},
	)
	common.About.Declare(c, true)
	common.Declare(c)
	set.Declare(c)
	layers := []settings.Layer{s.Keys}
	for _, l := range top {
		layers = append(layers, c.Shared(l))
	}
	var faults settings.Faults
	faults.Add(c.CheckKeys(s.Keys, elsewhere), c.Apply(layers...))
	if len(faults) == 0 {
		faults.Add(s.MissingKey(name, c))
	}
	if common.Path != "" {
		clean, ok := cleanPath(common.Path)
		if !ok {
			faults.Add(c.Locate(settings.Fault("path", "give a path of letters, digits, '-', '_', '.' and '~', such as /papers/")))
		}
		common.Path = strings.TrimPrefix(clean, "/")
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
	new(Config).Declare(site)
	if site.Lookup(key) != nil {
		return "at the top of the file, not in a set"
	}
	return inSets(key)
}

// validName matches names of folders that need no escapes in URLs.
var validName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// checkNames returns an error for sets with the same name or path.
func (c *Config) checkNames(file *settings.File) error {
	var all settings.Faults
	names, paths := make(map[string]bool), make(map[string]bool)
	for i, set := range c.Sets {
		var f settings.Faults
		s := set.Shared()
		if s.Name == "" && len(c.Sets) > 1 {
			f.Add(settings.Errorf("%s: a set without a name; give each a name, as in name: papers, because the documents of each have a folder of their own", file.Sections[i].From))
		} else {
			f.If(s.Name != "" && !validName.MatchString(s.Name), "name", "give letters, digits, '-', '_' and '.'")
			f.If(s.Name+"/" == CallbackPath, "name", "the URLs of notifications from hubs have this name; give another one")
			f.If(names[s.Name], "name", "two sets have this name; give each its own")
		}
		names[s.Name] = true
		p, serves := set.(pathServer)
		serves = serves && p.ServesPath()
		f.If(!serves && s.Path != "", "path", "a set of the kind %s has no path, because its resources are served elsewhere; remove the path", s.Kind)
		if serves && paths[s.Path] {
			f.Add(settings.Errorf("%s: two sets have the path /%s; give each its own, as in path: /papers/", file.Sections[i].From, s.Path))
		}
		paths[s.Path] = paths[s.Path] || serves
		all.Add(c.Catalogs[i].Locate(f.Err()))
	}
	return all.Err()
}

// A pathServer is a origin.Config whose resources may be served by this server.
type pathServer interface{ ServesPath() bool }
