package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/baseurl"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// serveConfig holds the command line of "resourcesync serve".
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

// parseServe reads the arguments of serve. Flags may precede and follow the folder.
// The error is flag.ErrHelp for --help.
func parseServe(args []string) (serveConfig, error) {
	var c serveConfig
	var folders []string
	flags := serveFlags(&c)
	for {
		if err := flags.Parse(args); err != nil {
			return c, serveUsage(suggestFlag(err, flags))
		}
		if flags.NArg() == 0 {
			break
		}
		folders = append(folders, flags.Arg(0))
		args = flags.Args()[1:]
	}
	switch len(folders) {
	case 0:
		return c, serveUsage(errors.New("no folder given"))
	case 1:
		c.folder = folders[0]
	default:
		return c, serveUsage(fmt.Errorf("only one folder can be published: %q is one too many", folders[1]))
	}
	return c, c.check()
}

// serveUsage makes err a usageError that names the help.
func serveUsage(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usagef(`serve: %w; "resourcesync serve --help" explains the flags`, err)
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

// stateIsPostgres reports whether state is kept in PostgreSQL.
func (c *serveConfig) stateIsPostgres() bool {
	return strings.HasPrefix(c.state, "postgres://") || strings.HasPrefix(c.state, "postgresql://")
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

// serveFlags returns the flags of serve, which set c.
func serveFlags(c *serveConfig) *flag.FlagSet {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run reports errors, in one line
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", `The address and port to listen on. The default accepts connections from this
computer only, 0.0.0.0:8080 from everywhere. Port 0 is any free port.
Default: 127.0.0.1:8080`)
	flags.StringVar(&c.baseURL, "base-url", "", `The public URL of the site, such as https://files.example.org/. All URLs in the
documents begin with it. A proxy in front must not change paths.
Default: http:// and the address of --listen`)
	flags.StringVar(&c.prefix, "prefix", "/resourcesync/", `The path of the ResourceSync documents below the base URL. A folder of this name
in DIR is not published. With /, the documents are at the top of the site, and
files and folders with the same names are not published; the log names them.
Default: /resourcesync/`)
	flags.StringVar(&c.hash, "hash", "sha-256", `The checksums to publish for each file: md5, sha-256, md5,sha-256 or none. With
none, the first scan reads few files, but Destinations cannot verify copies, and
files in packages are read twice.
Default: sha-256`)
	flags.IntVar(&c.pageSize, "page-size", 10_000, `The maximum number of files in one document, 1 to 50000. Longer lists are
divided.
Default: 10000`)
	flags.DurationVar(&c.rescan, "rescan", 5*time.Minute, `The interval between scans of the whole folder, such as 30s, 5m or 1h. Most
changes are noticed at once; scans find the others, for example on network
drives. They read changed files only.
Default: 5m`)
	c.maxDelete = 0.25
	flags.Var(&c.maxDelete, "max-delete", `The share of the files that may disappear before deletions are held, because an
unmounted volume looks the same. Held deletions are published after "resourcesync
confirm-deletions" or --max-delete-hold; new and changed files are published
meanwhile. Deletions are added up over one to two hours. One or two deletions are
never held, unless the set would become empty. 100% holds nothing, and publishes
held deletions.
Default: 25%`)
	c.hold = span(time.Hour)
	flags.Var(&c.hold, "max-delete-hold", `How long deletions are held. They are published if no file has come back in that
time, and few more have disappeared. 0 holds them until they are confirmed.
Default: 1h`)
	flags.StringVar(&c.state, "state", "", `Where to keep checksums, changes and subscriptions across restarts: a file
outside of DIR, or a PostgreSQL database that all servers of the site share, as
in postgres://user@host/database.
Default: a file in your cache folder, named after DIR`)
	flags.BoolVar(&c.moved, "moved", false, `Accept the state although DIR has another path than before. Give it once, after
you have moved DIR. Without it, the state of another folder is refused, because
all files of that folder would be published as deleted. A state in PostgreSQL
records no path, because each server may have the files at another path.`)
	c.window = span(day)
	flags.Var(&c.window, "window", `The longest interval that one Change List covers, such as 1h, 24h or 7d, if more
than --page-size changes need several lists.
Default: 24h`)
	c.retain = span(90 * day)
	flags.Var(&c.retain, "retain", `How long changes stay listed, such as 48h or 90d. Destinations that ask less
often must start again at the Resource List.
Default: 90d`)
	flags.Var(&c.archive, "archive", `How long Change Lists stay available in an archive after --retain, such as 730d,
counted from the time of the changes. 0 is no archive.
Default: 0`)
	flags.BoolVar(&c.dumps, "dumps", true, `Offer the files in ZIP packages as well, which exist only while they are sent. A
copy of all files then takes far fewer requests. Disable with --dumps=false.
Default: true`)
	c.pkgSize = 16 << 20
	flags.Var(&c.pkgSize, "package-size", `The maximum content of one package, such as 500MB or 4GiB. A larger file has its
own package. The transfer of a package is aborted if a file in it changes, so
choose a small size if files change often.
Default: 16MiB`)
	c.pkgEvery = span(time.Hour)
	flags.Var(&c.pkgEvery, "package-every", `The interval at which kept versions (--keep-versions) are put into a new package,
such as 15m or 1h. A full package is closed earlier.
Default: 1h`)
	flags.Var(&c.keep, "keep-versions", `How long to keep a copy of each new version of a file, such as 48h or 30d. The
versions are offered in a Change Dump, and each has its own URL (Memento), even
after the file has been deleted. 0 keeps none.
Default: 0`)
	flags.StringVar(&c.versions, "versions", "", `The folder for the copies of --keep-versions, and for nothing else. It is
required if the state is in a database; all servers of the site share it.
Default: a folder beside the state, named after it`)
	pushFlags(flags, &c.push)
	flags.Func("client-header", `The header in which a proxy in front states the address of the client, such as
X-Forwarded-For; the last address in it counts. It identifies clients for limits
on packages and on the hub. Use it only behind a proxy that sets the header,
because clients can set it too.
Default: none`, func(text string) error {
		c.client = http.CanonicalHeaderKey(text)
		return checkClientHeader(text)
	})
	flags.BoolVar(&c.sitemap, "sitemap", false, `Publish a plain sitemap for search engines too: sitemap.xml, below the prefix.
robots.txt names it. A robots.txt in DIR is served with an additional line, and
is not listed. Search engines accept a sitemap only for URLs below its own
folder; --prefix / puts it at the top of the site.`)
	flags.BoolVar(&c.robots, "robots-resource-list", false, `Name the Resource List in robots.txt, for Destinations that know only the site.
Search engines read robots.txt too, and report the ResourceSync elements of the
list as errors.`)
	flags.StringVar(&c.about, "described-by", "", `The URL of a document about this Source, such as its operator and terms. The
Source Description links to it.
Default: none`)
	flags.StringVar(&c.aboutSet, "set-described-by", "", `The URL of a document about the files and their metadata. The Source Description
and the Capability List link to it.
Default: none`)
	flags.BoolVar(&c.dotFiles, "dot-files", false, `Publish files and folders whose names begin with a dot as well.`)
	flags.StringVar(&c.status, "status", "", `A second address and port with a status page for operators, in JSON: the last
scan, counters, the progress of each hub and subscriber, and problems. Restrict
it to this computer or your own network.
Default: none`)
	flags.StringVar(&c.logFormat, "log-format", "text", `The format of log messages: text or json.
Default: text`)
	return flags
}
