package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/baseurl"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseServe(args)
	if err == nil {
		err = checkFolder(c.folder)
	}
	if err != nil {
		return err
	}
	return publish(ctx, &c, stdout, stderr)
}

func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no folder %q; give one whose files are to be published", folder)
	case err != nil:
		return usagef("folder %q: %w", folder, reason(err))
	case !info.IsDir():
		return usagef("%q is a file; give the folder that it is in", folder)
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

type serveConfig struct {
	folder    string
	listen    string
	baseURL   string // ends in a slash; empty if it follows the listener
	prefix    string // begins and ends with a slash
	hash      string
	hashes    []string // hash, split
	pageSize  int
	rescan    time.Duration
	moved     bool // the state is of this folder when it was elsewhere
	maxDelete percent
	hold      span   // of deletions; zero for until they are confirmed
	state     string // a file or a PostgreSQL URL; empty for the default file
	window    span
	retain    span
	archive   span // zero for no archive
	dumps     bool
	pkgSize   size
	pkgEvery  span
	keep      span   // zero for no versions
	versions  string // the folder for them; empty for one beside the state
	client    string // header with the address of the client
	sitemap   bool
	robots    bool   // names the Resource List in robots.txt
	about     string // the URI of a description of the Source
	aboutSet  string // and of the set
	dotFiles  bool
	push      pushConfig
	status    string // the address to answer operators at; empty for none
	logFormat string
}

// parseServe reads the arguments of serve. The error is flag.ErrHelp for --help.
func parseServe(args []string) (serveConfig, error) {
	var c serveConfig
	folders, err := parse(serveFlags(&c), args)
	switch {
	case err != nil:
	case len(folders) == 0:
		err = errors.New("no folder given")
	case len(folders) > 1:
		err = fmt.Errorf("only one folder can be published: %q is one too many", folders[1])
	default:
		c.folder = folders[0]
		return c, c.check()
	}
	return c, refuse("serve", err)
}

// check normalizes the values, and returns an error for the first wrong one.
func (c *serveConfig) check() error {
	var err error
	if c.baseURL, err = cleanBaseURL(c.baseURL); err != nil {
		return err
	}
	if c.prefix, err = cleanPrefix(c.prefix); err != nil {
		return err
	}
	if c.hashes, err = splitHashes(c.hash); err != nil {
		return err
	}
	switch {
	case c.pageSize < 1 || c.pageSize > rsxml.MaxEntries:
		return usagef("--page-size %d: a page has 1 to %d entries", c.pageSize, rsxml.MaxEntries)
	case c.rescan < time.Second:
		return usagef("--rescan %v: give a second or more, such as 30s, 5m or 1h", c.rescan)
	case c.hold < 0:
		return usagef("--max-delete-hold %v: give a time such as 30m or 1h, or 0 for no end", &c.hold)
	case strings.Contains(c.state, "://") && !c.stateIsPostgres():
		return usagef("--state %q: give a file, or a database of PostgreSQL as in postgres://user@host/database", c.state)
	case time.Duration(c.window) < time.Second:
		return usagef("--window %v: give a second or more, such as 1h, 24h or 7d", &c.window)
	case time.Duration(c.retain) < time.Second:
		return usagef("--retain %v: give a second or more, such as 48h or 90d", &c.retain)
	case c.archive != 0 && c.archive < c.retain:
		return usagef("--archive %v: give --retain (%v) or more, because changes are archived after that, or 0", &c.archive, &c.retain)
	case time.Duration(c.pkgEvery) < time.Second:
		return usagef("--package-every %v: give a second or more, such as 15m or 1h", &c.pkgEvery)
	case c.pkgSize < 1:
		return usagef("--package-size %v: give a byte or more, such as 500MB or 4GiB", &c.pkgSize)
	case c.keep < 0:
		return usagef("--keep-versions %v: give a time such as 48h or 30d, or 0", &c.keep)
	case c.keep > 0 && !c.dumps:
		return usagef("--keep-versions is for dumps; leave out --dumps=false")
	case c.keep > 0 && !slices.Contains(c.hashes, "sha-256"):
		return usagef("--keep-versions identifies versions by sha-256; give --hash md5,sha-256")
	case c.keep > 0 && c.stateIsPostgres() && c.versions == "":
		return usagef("--keep-versions needs a folder, because versions cannot be in a database; give one that all servers of the site share, as in --versions /var/lib/resourcesync/versions")
	case c.keep == 0 && c.versions != "":
		return usagef("--versions needs --keep-versions; state for how long to keep them, as in --keep-versions 30d")
	case c.about != "" && rsxml.CheckURI(c.about) != nil:
		return usagef("--described-by: %w", rsxml.CheckURI(c.about))
	case c.aboutSet != "" && rsxml.CheckURI(c.aboutSet) != nil:
		return usagef("--set-described-by: %w", rsxml.CheckURI(c.aboutSet))
	case c.logFormat != "text" && c.logFormat != "json":
		return usagef(`--log-format %q: give text or json`, c.logFormat)
	}
	return c.push.check()
}

func (c *serveConfig) stateIsPostgres() bool { return isPostgres(c.state) }

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// cleanBaseURL returns base as a URL that ends in a slash.
func cleanBaseURL(base string) (string, error) {
	if base == "" {
		return "", nil
	}
	u, err := baseurl.Parse(base)
	if err != nil {
		return "", usagef("--base-url: %v: give the address of the site, such as https://files.example.org/, and leave out users, ? and #", err)
	}
	return u.JoinPath("/").String(), nil
}

// prefixes matches paths without ".", ".." and the well-known URI, and without
// characters that must be percent-encoded.
var prefixes = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/$`)

func cleanPrefix(prefix string) (string, error) {
	clean := "/"
	if name := strings.Trim(prefix, "/"); name != "" {
		clean += name + "/"
	}
	if !prefixes.MatchString(clean) {
		return "", usagef("--prefix %q: give a path of letters, digits, '-', '_', '.' and '~', such as /resourcesync/, or /", prefix)
	}
	return clean, nil
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

func serveFlags(c *serveConfig) *flag.FlagSet {
	*c = serveConfig{
		maxDelete: 0.25,
		hold:      span(time.Hour),
		window:    span(day),
		retain:    span(90 * day),
		pkgSize:   16 << 20,
		pkgEvery:  span(time.Hour),
		push:      pushConfig{minLease: span(5 * time.Minute), retry: span(time.Minute), giveUp: span(3 * day)},
	}
	flags := newFlags("serve")
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", "")
	flags.StringVar(&c.baseURL, "base-url", "", "")
	flags.StringVar(&c.prefix, "prefix", "/resourcesync/", "")
	flags.StringVar(&c.hash, "hash", "sha-256", "")
	flags.IntVar(&c.pageSize, "page-size", 10_000, "")
	flags.DurationVar(&c.rescan, "rescan", 5*time.Minute, "")
	flags.Var(&c.maxDelete, "max-delete", "")
	flags.Var(&c.hold, "max-delete-hold", "")
	flags.StringVar(&c.state, "state", "", "")
	flags.BoolVar(&c.moved, "moved", false, "")
	flags.Var(&c.window, "window", "")
	flags.Var(&c.retain, "retain", "")
	flags.Var(&c.archive, "archive", "")
	flags.BoolVar(&c.dumps, "dumps", true, "")
	flags.Var(&c.pkgSize, "package-size", "")
	flags.Var(&c.pkgEvery, "package-every", "")
	flags.Var(&c.keep, "keep-versions", "")
	flags.StringVar(&c.versions, "versions", "", "")
	pushFlags(flags, &c.push)
	flags.Func("client-header", "", func(text string) error {
		c.client = http.CanonicalHeaderKey(text)
		return checkClientHeader(text)
	})
	flags.BoolVar(&c.sitemap, "sitemap", false, "")
	flags.BoolVar(&c.robots, "robots-resource-list", false, "")
	flags.StringVar(&c.about, "described-by", "", "")
	flags.StringVar(&c.aboutSet, "set-described-by", "", "")
	flags.BoolVar(&c.dotFiles, "dot-files", false, "")
	flags.StringVar(&c.status, "status", "", "")
	flags.StringVar(&c.logFormat, "log-format", "text", "")
	return flags
}
