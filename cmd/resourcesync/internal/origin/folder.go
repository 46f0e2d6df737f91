package origin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/dir/browse"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A Folder is the configuration of a set of the files of a folder.
type Folder struct {
	Common
	Dir      string
	hash     string
	hashes   []string      // hash, split
	Keep     time.Duration // zero for no versions
	versions string        // the folder for them; empty for one beside the state
	dotFiles bool
	exclude  exclusions
	browse   bool // pages for folders
}

func (f *Folder) Declare(c *settings.Catalog) {
	c.Add(settings.Setting{Name: "folder", Value: settings.Text(&f.Dir), Argument: true, Offer: completion.Folders, Need: "the folder whose files are to be published", Example: "/srv/files"})
	c.Add(
		settings.Setting{Name: "hash", Value: settings.Text(&f.hash), Default: "sha-256", Offer: completion.Values{Words: []string{"sha-256", "md5", "md5,sha-256", "none"}},
			Text: `The checksums to publish for each file: md5, sha-256, md5,sha-256 or none. With none, the first
				scan reads few files, but Destinations cannot verify copies, and files in packages are read twice.`},
		settings.Setting{Name: "dot-files", Value: settings.Bool(&f.dotFiles),
			Text: "Publish files and folders whose names begin with a dot as well."},
		settings.Setting{Name: "exclude", Value: settings.Each(f.exclude.add), Without: "litter for a new state; files that are already listed stay", Also: []string{"ignore"},
			Text: `A pattern for files and folders that must not be published, such as *.tmp, drafts/ (a folder) or
				drafts/2026 (a path). litter stands for what systems and office programs leave behind, such as
				Thumbs.db and ~$*; none excludes nothing. Listed files that a new pattern excludes are published as
				deleted; these deletions are not held.`},
		settings.Setting{Name: "browse", Value: settings.Bool(&f.browse), Default: "true", Group: settings.Lists,
			Text: `Show folders to people: index.html if there is one, and otherwise a page that lists the published
				files. Disable with --browse=false; folders are then answered 404.`},
		settings.Setting{Name: "keep-versions", Value: settings.Span(&f.Keep), Default: "0", Group: settings.Dumps,
			Text: `How long to keep a copy of each new version of a file, such as 48h or 30d. The versions are
				offered in a Change Dump, and each has its own URL (Memento), even after the file has been
				deleted. Change Lists link to them if this is at least as long as --retain and --archive. 0 keeps
				none.`},
		settings.Setting{Name: "versions", Value: settings.Text(&f.versions), Without: "a folder beside the state, named after it", Group: settings.Dumps, Offer: completion.Folders,
			Text: `The folder for the copies of --keep-versions, and for nothing else. It is required if the state is
				in a database; all servers of the site share it.`},
	)
	c.Change(settings.Setting{Name: "rescan",
		Text: `The interval between scans of the whole folder, such as 30s, 5m or 1h. Most changes are noticed at
			once; scans find the others, for example on network drives. They read changed files only.`})
}

func (c *Folder) Check(state string) error {
	var f settings.Faults
	var err error
	if c.hashes, err = splitHashes(c.hash); err != nil {
		f.Add(err)
	}
	f.If(len(c.exclude) > 1 && slices.Contains(c.exclude, noPatterns), "exclude", "none excludes nothing; leave it out, or the patterns")
	f.If(c.Keep < 0, "keep-versions", "give a time such as 48h or 30d, or 0")
	f.If(c.Keep > 0 && !c.Dumps, "keep-versions", "is for dumps; leave out --dumps=false")
	f.If(c.Keep > 0 && !slices.Contains(c.hashes, "sha-256"), "keep-versions", "identifies versions by sha-256; give --hash md5,sha-256")
	f.If(c.Keep > 0 && tabledb.IsPostgres(state) && c.versions == "", "keep-versions", "needs a folder, because versions cannot be in a database; give one that all servers of the site share, as in --versions /var/lib/resourcesync/versions")
	f.If(c.Keep == 0 && c.versions != "", "versions", "needs --keep-versions; state for how long to keep them, as in --keep-versions 30d")
	return f.Err()
}

// splitHashes returns the hashes in a list: an empty slice, which is not nil, for
// none.
func splitHashes(list string) ([]string, error) {
	if list == "none" {
		return []string{}, nil
	}
	hashes := strings.Split(list, ",")
	for i, h := range hashes {
		if h != "md5" && h != "sha-256" || slices.Contains(hashes[:i], h) {
			return nil, settings.Fault("hash", "give md5, sha-256, md5,sha-256 or none")
		}
	}
	return hashes, nil
}

// ServesPath implements [pathServer].
func (c *Folder) ServesPath() bool { return true }

// Verify implements [verifier].
func (c *Folder) Verify() error {
	info, err := os.Stat(c.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return settings.Fault("folder", "there is no folder of this name; give one whose files are to be published")
	case err != nil:
		return settings.Fault("folder", "%w", paths.Reason(err))
	case !info.IsDir():
		return settings.Fault("folder", "this is a file; give the folder that it is in")
	}
	folder, err := os.Open(c.Dir)
	if err != nil {
		return settings.Fault("folder", "%w; let the user of this process read the folder and its files", paths.Reason(err))
	}
	return folder.Close()
}

func (c *Folder) Question() string {
	return fmt.Sprintf("Is everything in the folder %s, and is its volume mounted?", c.Dir)
}

func (c *Folder) StateName() string { return "files" }

// DefaultState implements [stateDefaulter].
func (c *Folder) DefaultState() (string, error) {
	published, err := paths.Real(c.Dir)
	if err != nil {
		return "", settings.Errorf("folder %q: %w", c.Dir, paths.Reason(err))
	}
	path, err := state.FolderFile(published)
	if err != nil {
		return "", settings.Errorf("no place to keep state in by default: %w; give one, as in --state /var/lib/resourcesync/files.db", err)
	}
	return path, nil
}

// CheckState implements [stateChecker]: the state must not be in the folder.
func (c *Folder) CheckState(path, given string) error {
	published, err := paths.Real(c.Dir)
	if err != nil {
		return settings.Errorf("folder %q: %w", c.Dir, paths.Reason(err))
	}
	inside, err := paths.IsInside(path, published)
	if errors.Is(err, fs.ErrNotExist) { // verify says so
		return nil
	}
	if err != nil {
		return settings.Errorf("--state %q: %w", given, paths.Reason(err))
	}
	if inside {
		return settings.Errorf("state would be kept in %q, in the folder that is published; give a file elsewhere, as in --state /var/lib/resourcesync/files.db", path)
	}
	return nil
}

func (c *Folder) Identity(string) (id scan.Identity, err error) {
	if id.Given, err = filepath.Abs(c.Dir); err == nil {
		id.Name, err = filepath.EvalSymlinks(id.Given)
	}
	return id, err
}

// A folderSet is a set of the files of a folder.
type folderSet struct {
	*Set
	*Folder
	dir       *dir.Dir
	excluding exclusions      // in force
	sparse    sparse.Log      // for lines that clients can cause
	warned    map[string]bool // reserved paths whose files have been logged
}

func (c *Folder) Open(ctx context.Context, m *Set) (_ *Content, err error) {
	s := &folderSet{Set: m, Folder: c, warned: make(map[string]bool)}
	if s.excluding, err = c.exclude.of(ctx, m.Stored); err != nil {
		return nil, err
	}
	o := &dir.Options{
		Hashes:          c.hashes,
		DotFiles:        c.dotFiles,
		ExcludePatterns: s.excluding.patterns(),
		Exclude:         s.excludes,
		Logger:          m.Log,
	}
	var origin files
	if c.Keep > 0 {
		copies, err := openVersions(c, m)
		if err != nil {
			return nil, err
		}
		f, err := versions.OpenFolder(c.Dir, m.BaseURL, copies, o)
		if err != nil {
			return nil, settings.Errorf("%w", err)
		}
		origin, s.dir = f, f.Dir
	} else {
		if s.dir, err = dir.Open(c.Dir, m.BaseURL, o); err != nil {
			return nil, settings.Errorf("%w", err)
		}
		origin = s.dir
	}
	content := &Content{
		From:    slog.String("folder", c.Dir),
		Unit:    "file",
		Origin:  folderOrigin{origin, s},
		Handler: s.handler,
		Close:   s.dir.Close,
	}
	if history, ok := origin.(*versions.Folder); ok {
		content.Set.ChangeOpener, content.Set.Memento = history, true
	}
	return content, nil
}

// excludes reports whether documents or other sets have the URLs of a file or folder.
func (s *folderSet) excludes(key string, isDir bool) bool {
	path := s.Base.Path + key
	if isDir {
		path += "/"
	}
	reserved := s.Reserved.Load()
	return reserved != nil && slices.Contains(*reserved, path)
}

// A files is a *dir.Dir or a *versions.Folder.
type files interface {
	scan.Origin
	scan.Binder
	scan.Parter
	scan.Watcher
	scan.Estimator
	scan.Progresser
	scan.Identifier
	scan.Excluder
	scan.Recognizer
	scan.Container
	resourcesync.Opener
	resourcesync.Checksummer
	resourcesync.Coverer
}

// A folderOrigin is a folder whose scans also log files in reserved places.
type folderOrigin struct {
	files
	set *folderSet
}

// Identity implements [scan.Identifier].
func (o folderOrigin) Identity() scan.Identity {
	id := o.files.Identity()
	id.Excluded = o.set.excluding.record(id.Excluded)
	return id
}

// Resources implements [scan.Origin].
func (o folderOrigin) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		o.set.logReserved()
		o.files.Resources(ctx)(yield)
	}
}

// logReserved logs files in reserved places once.
func (s *folderSet) logReserved() {
	for _, at := range *s.Reserved.Load() {
		key, below := strings.CutPrefix(at, s.Base.Path)
		if !below || s.warned[at] || at == wellknown.Path && !s.dotFiles {
			continue
		}
		path := filepath.Join(s.Dir, filepath.FromSlash(key))
		if info, err := os.Lstat(path); err == nil && info.IsDir() == strings.HasSuffix(at, "/") {
			s.warned[at] = true
			if at == RobotsPath {
				s.Log.Info("not listed, because it is served with additional lines for the Resource List or the sitemap", "path", path)
			} else {
				s.Log.Warn("not published, because ResourceSync documents have its URL", "path", path)
			}
		}
	}
}

func (s *folderSet) handler(src *rshttp.Source) (http.Handler, error) {
	files := s.dir.Handler(nil)
	if s.browse {
		files = browse.Handler(s.dir, browsed{s.Stored, s.Scanned.View}, &browse.Options{Source: Home(src), Logger: s.Log})
	}
	return src.Wrap(s.withRobots(files)), nil
}
