// Package dir publishes a folder of files: it scans the folder for resources, opens
// and serves their content, and watches it for changes.
//
// A [Dir] is an origin of package scan: it yields resources in the order in which it finds
// them, and a stored set keeps them.
//
//	papers, err := dir.Open("papers", "https://example.org/", nil)
//	set, err := scan.Into(ctx, store, "papers", papers, nil)
//
// A scan yields a [resourcesync.UnreadableError] for each part that it cannot read, and the
// set deletes nothing in that part. A scan that cannot continue ends with another error, and
// the set deletes nothing at all.
//
// [Dir.Watch] reports what may have changed, and [Dir.Part] scans that part alone, so a
// change costs what it changes. Scans of the whole folder find what no event has reported.
//
// # Listed files
//
// A Dir lists regular files below the folder, except files
//
//   - whose name, or the name of a folder on the path, begins with a dot (unless
//     [Options.DotFiles]) or is excluded by [Options.ExcludePatterns] or [Options.Exclude];
//   - that cannot be read, unless they were listed before;
//   - whose key is longer than [resourcesync.MaxKeyLength] or whose URI is longer
//     than [rsxml.MaxURI].
//
// It follows no symbolic links below the folder and lists nothing that only a link
// leads to. So a symbolic link gives no file a second name, makes no cycle, and publishes
// no file outside of the folder or in an excluded part of it. The path given to [Open] may
// itself be a link.
//
// The same rules apply to scans, [Dir.Open], [Dir.Lists], [Dir.Covers] and [Dir.Handler]. They
// open a path one folder at a time, so they never leave the published folder.
//
// On file systems that ignore case, a URL in another case leads to the same file, and
// Exclude and ExcludePatterns get the name in the URL.
package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// Options are the optional arguments of [Open].
type Options struct {
	// Hashes names the digests of each resource, in order: "md5" or "sha-256".
	//
	// If nil, "sha-256" is used. If empty but not nil, resources have no digests,
	// and a scan opens only files whose media type does not follow from the name.
	Hashes []string

	// DotFiles includes files and folders whose names begin with a dot.
	DotFiles bool

	// ExcludePatterns excludes files, and folders with everything below them, by names
	// or paths in the syntax of [path.Match], such as "*.tmp". A pattern with a slash
	// before its end matches the path below the folder, such as "drafts/2026" or
	// "/drafts"; any other matches names in all folders. A slash at the end matches
	// folders only. [Litter] has usual ones. Case matters, and * stands for no slash.
	//
	// [scan.Set] records the patterns. When they have changed, the next complete scan
	// deletes the resources that they exclude, and holds none of these deletions.
	//
	// If empty, nothing is excluded.
	ExcludePatterns []string

	// Exclude reports whether to exclude a file or a folder with everything below
	// it. path is the key: relative to the folder and separated by slashes.
	// Exclude must be safe for concurrent use and always return the same result
	// for a path. The set does not record it: deletions of files that are excluded
	// later may be held.
	//
	// If nil, nothing is excluded.
	Exclude func(path string, isDir bool) bool

	// Keep begins a copy of a file that a scan is about to read; the scan writes
	// the content to it. Keep must be safe for concurrent use. If the copy fails,
	// the version is not yielded, the scan is incomplete, and the next scan tries
	// again.
	//
	// If nil, or if it returns nil, no copy is made.
	Keep func() (Copy, error)

	// Concurrency is the number of files that a scan reads at once. Each takes a
	// buffer of 128 KiB.
	//
	// If zero, GOMAXPROCS is used.
	Concurrency int

	// Debounce is the time without events of a file after which [Dir.Watch] reports
	// it. If its events keep arriving, Watch waits ten times as long at most.
	//
	// If zero, 100 ms is used.
	Debounce time.Duration

	// Logger receives skipped files and errors: once, and again when they change.
	//
	// If nil, slog.Default() is used.
	Logger *slog.Logger
}

// A Copy receives the content of a file while a scan reads it. The scan ends it with
// one call of Keep, before it yields the version, or of Discard, if the content is not
// a new version.
type Copy interface {
	io.Writer
	Keep(hashes []resourcesync.Hash) error
	Discard()
}

// A Dir is a folder that is published under a base URL. All methods are safe
// for concurrent use.
type Dir struct {
	path     string // absolute
	real     string // path, free of symbolic links
	root     *folder
	base     string // the URI of the folder, with a slash at its end
	basePath string // the path of base, decoded
	rawBase  string // the path of base, encoded

	algorithms  []algorithm
	dotFiles    bool
	exclude     func(path string, isDir bool) bool
	patterns    []pattern
	excluded    string                                                                    // the patterns, as the set records them
	known       func(ctx context.Context, keys []string) ([]resourcesync.Resource, error) // nil until Bind
	keep        func() (Copy, error)
	concurrency int
	debounce    time.Duration
	log         *slog.Logger
	sparse      sparse.Log // for lines that clients can cause

	last     atomic.Pointer[scanRun] // the complete scan that runs, or else the last one
	closing  sync.Once
	watching atomic.Pointer[notices] // nil while Watch does not run
	stripped atomic.Bool             // it was logged that paths lack their beginning

	skips health.Rounds // files that scans skip
	fails health.Rounds // files that make scans incomplete

	// A file that changed less than unsettled ago may change again without a new
	// stamp.
	unsettled time.Duration
	readers   sync.Pool // of *reader
}

var (
	_ resourcesync.Opener      = (*Dir)(nil)
	_ resourcesync.Checksummer = (*Dir)(nil)
	_ resourcesync.Coverer     = (*Dir)(nil)
)

// Open opens the folder at path. Its files have URLs below baseURL, an absolute http or
// https URL without query and fragment. A slash at its end may be missing. The file a/b.txt
// has the key "a/b.txt" and the URI baseURL + "a/b.txt", percent-encoded as RFC 3986 requires.
//
// The folder stays open until Close. If another folder replaces it at path, scans fail
// until Open is called again.
func Open(path, baseURL string, o *Options) (*Dir, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Concurrency < 0 || o.Debounce < 0 {
		return nil, errors.New("dir: negative Concurrency or Debounce")
	}
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	algorithms, err := algorithmsOf(o.Hashes)
	if err != nil {
		return nil, err
	}
	patterns, err := parsePatterns(o.ExcludePatterns)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("dir: %w", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("dir: %w", err)
	}
	root, err := newFolder(abs)
	if err != nil {
		return nil, fmt.Errorf("dir: %w", err)
	}
	d := &Dir{
		path:        abs,
		real:        real,
		root:        root,
		base:        base.String(),
		basePath:    base.Path,
		rawBase:     base.EscapedPath(),
		algorithms:  algorithms,
		dotFiles:    o.DotFiles,
		exclude:     o.Exclude,
		patterns:    patterns,
		excluded:    strings.Join(o.ExcludePatterns, "\n"),
		keep:        o.Keep,
		concurrency: cmp.Or(o.Concurrency, runtime.GOMAXPROCS(0)),
		debounce:    cmp.Or(o.Debounce, 100*time.Millisecond),
		log:         cmp.Or(o.Logger, slog.Default()),
		unsettled:   unsettled,
	}
	d.readers.New = func() any { return newReader(d.algorithms) }
	return d, nil
}

// URL returns the URL of the folder: the base URL, with a slash at its end.
func (d *Dir) URL() string { return d.base }

// Close closes the folder. Running scans and later calls fail; open files stay open.
func (d *Dir) Close() error {
	d.closing.Do(d.root.release)
	return nil
}
