package main

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/dir/browse"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A folderConfig is the configuration of a set of the files of a folder.
type folderConfig struct {
	setSettings
	folder   string
	hash     string
	hashes   []string // hash, split
	keep     span     // zero for no versions
	versions string   // the folder for them; empty for one beside the state
	dotFiles bool
	browse   bool // pages for folders
}

func (c *folderConfig) flags(flags *flag.FlagSet) {
	flags.StringVar(&c.hash, "hash", "sha-256", "")
	flags.Var(&c.keep, "keep-versions", "")
	flags.StringVar(&c.versions, "versions", "", "")
	flags.BoolVar(&c.dotFiles, "dot-files", false, "")
	flags.BoolVar(&c.browse, "browse", true, "")
}

func (c *folderConfig) argument() *string { return &c.folder }

func (c *folderConfig) required() []requirement {
	return []requirement{{"folder", "the folder whose files are to be published", "/srv/files", c.folder}}
}

func (c *folderConfig) check(site *siteConfig) error {
	var err error
	if c.hashes, err = splitHashes(c.hash); err != nil {
		return err
	}
	switch {
	case c.keep < 0:
		return usagef("--keep-versions %v: give a time such as 48h or 30d, or 0", &c.keep)
	case c.keep > 0 && !c.dumps:
		return usagef("--keep-versions is for dumps; leave out --dumps=false")
	case c.keep > 0 && !slices.Contains(c.hashes, "sha-256"):
		return usagef("--keep-versions identifies versions by sha-256; give --hash md5,sha-256")
	case c.keep > 0 && site.stateIsPostgres() && c.versions == "":
		return usagef("--keep-versions needs a folder, because versions cannot be in a database; give one that all servers of the site share, as in --versions /var/lib/resourcesync/versions")
	case c.keep == 0 && c.versions != "":
		return usagef("--versions needs --keep-versions; state for how long to keep them, as in --keep-versions 30d")
	}
	return nil
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
			return nil, usagef("--hash %q: give md5, sha-256, md5,sha-256 or none", list)
		}
	}
	return hashes, nil
}

// servesPath implements [pathServer].
func (c *folderConfig) servesPath() bool { return true }

// verify implements [verifier].
func (c *folderConfig) verify() error {
	info, err := os.Stat(c.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no folder %q; give one whose files are to be published", c.folder)
	case err != nil:
		return usagef("folder %q: %w", c.folder, reason(err))
	case !info.IsDir():
		return usagef("%q is a file; give the folder that it is in", c.folder)
	}
	return nil
}

// reason returns err without the path, which is not quoted in it.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

func (c *folderConfig) stateName() string { return "files" }

// defaultState implements [stateDefaulter].
func (c *folderConfig) defaultState() (string, error) {
	published, err := realPath(c.folder)
	if err != nil {
		return "", usagef("folder %q: %w", c.folder, reason(err))
	}
	path, err := defaultStateFile(published)
	if err != nil {
		return "", usagef("no place to keep state in by default: %w; give one, as in --state /var/lib/resourcesync/files.db", err)
	}
	return path, nil
}

// checkState implements [stateChecker]: the state must not be in the folder.
func (c *folderConfig) checkState(path, given string) error {
	published, err := realPath(c.folder)
	if err != nil {
		return usagef("folder %q: %w", c.folder, reason(err))
	}
	inside, err := isInside(path, published)
	if err != nil {
		return usagef("--state %q: %w", given, reason(err))
	}
	if inside {
		return usagef("state would be kept in %q, in the folder that is published; give a file elsewhere, as in --state /var/lib/resourcesync/files.db", path)
	}
	return nil
}

func (c *folderConfig) identity(*siteConfig) (id scan.Identity, err error) {
	if id.Given, err = filepath.Abs(c.folder); err == nil {
		id.Name, err = filepath.EvalSymlinks(id.Given)
	}
	return id, err
}

// A folderSet is a set of the files of a folder.
type folderSet struct {
	*member
	*folderConfig
	dir    *dir.Dir
	copies *versions.Store // nil if none are kept
	sparse sparse.Log      // for lines that clients can cause
	warned map[string]bool // reserved paths whose files have been logged
}

func (c *folderConfig) open(_ context.Context, m *member) (*content, error) {
	s := &folderSet{member: m, folderConfig: c, warned: make(map[string]bool)}
	o := &dir.Options{
		Hashes:   c.hashes,
		DotFiles: c.dotFiles,
		Exclude:  s.excludes,
		Logger:   m.log,
	}
	var err error
	if c.keep > 0 {
		if s.copies, err = openVersions(c, m); err != nil {
			return nil, err
		}
		o.Keep = s.keepVersion
	}
	if s.dir, err = dir.Open(c.folder, m.baseURL, o); err != nil {
		return nil, usageError{err}
	}
	content := &content{
		from:    slog.String("folder", c.folder),
		unit:    "file",
		origin:  folderOrigin{s.dir, s},
		handler: s.handler,
		close:   s.dir.Close,
	}
	if s.copies != nil {
		content.set.ChangeOpener = history{s.copies, s.dir}
		content.set.Memento = true
	}
	return content, nil
}

// excludes reports whether documents or other sets have the URLs of a file or folder.
func (s *folderSet) excludes(key string, isDir bool) bool {
	path := s.base.Path + key
	if isDir {
		path += "/"
	}
	reserved := s.reserved.Load()
	return reserved != nil && slices.Contains(*reserved, path)
}

// A folderOrigin is a folder whose scans also look after reserved places and old versions.
type folderOrigin struct {
	*dir.Dir
	set *folderSet
}

// Resources implements [scan.Origin].
func (o folderOrigin) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		o.set.logReserved()
		if o.set.copies != nil {
			// Here, where no other server of the site scans.
			if err := o.set.copies.Prune(ctx); err != nil {
				o.set.log.Warn("old versions not removed", "error", err)
			}
		}
		o.Dir.Resources(ctx)(yield)
	}
}

// logReserved logs files in reserved places once.
func (s *folderSet) logReserved() {
	for _, at := range *s.reserved.Load() {
		key, below := strings.CutPrefix(at, s.base.Path)
		if !below || s.warned[at] || at == wellknown.Path && !s.dotFiles {
			continue
		}
		path := filepath.Join(s.folder, filepath.FromSlash(key))
		if info, err := os.Lstat(path); err == nil && info.IsDir() == strings.HasSuffix(at, "/") {
			s.warned[at] = true
			if at == robotsPath {
				s.log.Info("not listed, because it is served with additional lines for the Resource List or the sitemap", "path", path)
			} else {
				s.log.Warn("not published, because ResourceSync documents have its URL", "path", path)
			}
		}
	}
}

func (s *folderSet) handler(src *rshttp.Source) (http.Handler, error) {
	files := s.dir.Handler(nil)
	if s.browse {
		files = browse.Handler(s.dir, browsed{s.stored, s.set.View}, &browse.Options{Source: home(src), Logger: s.log})
	}
	return src.Wrap(s.withRobots(files)), nil
}

// browsed is the stored set of a folder as its pages show it: not before the set is ready.
type browsed struct {
	*sqlstore.Set
	view *scan.View
}

func (b browsed) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	return b.view.Stat(ctx, r)
}

func (b browsed) First(ctx context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error] {
	if !b.view.Ready() {
		return func(yield func(resourcesync.Resource, error) bool) {
			yield(resourcesync.Resource{}, resourcesync.ErrNotReady)
		}
	}
	return b.Set.First(ctx, r, n)
}

func (b browsed) Folder(ctx context.Context, folder string, r resourcesync.Range, n int) ([]resourcesync.Resource, error) {
	if !b.view.Ready() {
		return nil, resourcesync.ErrNotReady
	}
	return b.Set.Folder(ctx, folder, r, n)
}
