// Package dir publishes a folder of files: it scans the folder for resources,
// opens and serves their bytes, and tells when something has changed.
//
// A [Dir] is a scanner. It yields resources in the order in which it finds them, so
// a store stands between it and a Source: the store takes in each scan and deletes
// what a complete one no longer names. A scan yields a
// [resourcesync.UnreadableError] for each part that it could not read, and nothing
// in that part is deleted. A scan that cannot continue ends with another error, and
// nothing at all is deleted.
//
// # What is listed
//
// Regular files below the folder, except
//
//   - those whose name, or that of a folder on the way, begins with a dot
//     (unless [Options.DotFiles]) or is left out by [Options.Exclude];
//   - those that cannot be read, unless they were listed before;
//   - those whose key is longer than [resourcesync.MaxKeyLength] or whose URI is
//     longer than [rsxml.MaxURI].
//
// Symbolic links below the folder are not followed, wherever they lead, and what
// can be reached only through one is not listed: so nothing has two names, there
// are no cycles, and no link publishes what lies outside the folder or in a part
// of it that is left out. The path given to [Open] may itself be a link.
//
// All of this holds for a scan, for [Dir.Open], [Dir.Covers] and [Dir.Handler]
// alike. Files are opened through an [os.Root] only, so never one outside.
//
// On file systems that ignore case, a URL in another case leads to the same
// file, and Exclude is asked about the name in the URL.
package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// Options are the choices of [Open]. The zero value is valid.
type Options struct {
	// Hashes names the digests that each resource gets, in this order:
	// "md5" and "sha-256" are known.
	//
	// If nil, "sha-256" is used. If empty but not nil, there are none, and a
	// file is opened only if its name does not tell its media type.
	Hashes []string

	// DotFiles lists files and folders whose names begin with a dot too.
	DotFiles bool

	// Exclude reports whether a file or a folder is to be left out. Path is
	// its key: relative to the folder and separated by slashes. Nothing below
	// a folder that is left out is looked at. Exclude is called from several
	// goroutines and must always give the same answer.
	//
	// If nil, nothing is left out.
	Exclude func(path string, isDir bool) bool

	// Known returns what is known of the resources with these keys, some
	// hundreds of one folder at most, as an earlier scan yielded them: in the
	// same order, each zero if there is none. A file whose Stamp has not moved
	// since is not read again. An error ends the scan.
	//
	// If nil, every scan reads every file.
	Known func(ctx context.Context, keys []string) ([]resourcesync.Resource, error)

	// Keep begins a copy of a file that a scan is about to read; what the
	// scan reads is written to it. It is called from several goroutines. If
	// the copy of a version cannot be begun, written or kept, the version is
	// not yielded, and the scan is incomplete: the next one tries again.
	//
	// If nil, or if it returns nil, no copy is made.
	Keep func() (Copy, error)

	// Concurrency is how many files one scan reads at once. Each has a buffer
	// of 128 KiB.
	//
	// If zero, GOMAXPROCS is used.
	Concurrency int

	// Debounce is how long nothing must have happened before [Dir.Watch]
	// wakes its caller. While things go on happening it waits for ten times
	// as long at most.
	//
	// If zero, 100 ms is used.
	Debounce time.Duration

	// Progress is told how far a scan has come, four times a second and once
	// at its end. It is called from the goroutine that ranges over the scan.
	//
	// If nil, nothing is told.
	Progress func(Progress)

	// Logger receives skipped files and errors: once, and again when they change.
	//
	// If nil, slog.Default() is used.
	Logger *slog.Logger
}

// A Copy takes a copy of a version of a file while it is read. It ends with one
// call of Keep, which comes before the version is yielded, or of Discard, if it
// turns out to be none.
type Copy interface {
	io.Writer
	Keep(hashes []resourcesync.Hash) error
	Discard()
}

// A Dir is a folder that is published under a base URL. All methods are safe
// for concurrent use.
type Dir struct {
	path     string // absolute
	root     *os.Root
	base     string // the URI of the folder, with a slash at its end
	basePath string // the path of base, decoded

	algorithms  []algorithm
	dotFiles    bool
	exclude     func(path string, isDir bool) bool
	known       func(ctx context.Context, keys []string) ([]resourcesync.Resource, error)
	keep        func() (Copy, error)
	concurrency int
	debounce    time.Duration
	progress    func(Progress)
	log         *slog.Logger
	sparse      sparse.Log // of what clients can cause

	skips health.Rounds // what scans skip
	fails health.Rounds // what makes them incomplete

	// A file that changed less than unsettled ago may change again without
	// its stamp telling.
	unsettled time.Duration
	readers   sync.Pool // of *reader
}

var (
	_ resourcesync.Opener      = (*Dir)(nil)
	_ resourcesync.Checksummer = (*Dir)(nil)
	_ resourcesync.Watcher     = (*Dir)(nil)
	_ resourcesync.Coverer     = (*Dir)(nil)
)

// Open opens the folder at path, whose files are found on the web under
// baseURL: an absolute http or https URL that ends in a slash, without query
// and fragment. The file a/b.txt has the key "a/b.txt" and the URI
// baseURL + "a/b.txt", percent-encoded where RFC 3986 asks for it.
//
// The folder is held open until Close. If another one takes its place at path,
// scans fail until it is opened anew.
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
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("dir: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("dir: %w", err)
	}
	d := &Dir{
		path:        abs,
		root:        root,
		base:        base.String(),
		basePath:    base.Path,
		algorithms:  algorithms,
		dotFiles:    o.DotFiles,
		exclude:     o.Exclude,
		known:       o.Known,
		keep:        o.Keep,
		concurrency: cmp.Or(o.Concurrency, runtime.GOMAXPROCS(0)),
		debounce:    cmp.Or(o.Debounce, 100*time.Millisecond),
		progress:    o.Progress,
		log:         cmp.Or(o.Logger, slog.Default()),
		unsettled:   unsettled,
	}
	d.readers.New = func() any { return newReader(d.algorithms) }
	return d, nil
}

// Close lets go of the folder. Scans that are under way fail, and so does
// everything called later; files that are open stay so.
func (d *Dir) Close() error { return d.root.Close() }
