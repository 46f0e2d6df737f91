package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// serveConfig is what "resourcesync serve" was told on the command line.
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

// parseServe reads the arguments of serve. Flags may stand before and behind
// the folder. The error is flag.ErrHelp if help was asked for.
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
		return c, serveUsage(fmt.Errorf("one folder is published at a time, and %q is one too many", folders[1]))
	}
	return c, c.check()
}

// serveUsage makes err a usageError that says where to read on.
func serveUsage(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usagef(`serve: %w; "resourcesync serve --help" tells how it is used`, err)
}

// check brings the values into one form and says what is wrong with them.
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
		return usagef("--keep-versions tells versions by their sha-256; give --hash md5,sha-256")
	case c.keep > 0 && c.stateIsPostgres() && c.versions == "":
		return usagef("--keep-versions keeps files, and a database has no place for them; give a folder, as in --versions /var/lib/resourcesync/versions, that all servers of the site share")
	case c.keep == 0 && c.versions != "":
		return usagef("--versions is for versions that are kept; say for how long, as in --keep-versions 30d")
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

// cleanBaseURL returns base as a URL that others can be made from by appending
// to it.
func cleanBaseURL(base string) (string, error) {
	if base == "" {
		return "", nil
	}
	u, err := url.Parse(base)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", usagef("--base-url %q: give the whole address of the site, such as https://files.example.org/", base)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", usagef("--base-url %q: leave out users, ? and #", base)
	}
	return u.JoinPath("/").String(), nil
}

// prefixes are such that no segment can be mistaken for "." or "..", hides the
// well-known URI, or must be percent-encoded.
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
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", `The address and port to answer at. The default can be reached from this
computer only, 0.0.0.0:8080 from everywhere. Port 0 is any free port.
Default: 127.0.0.1:8080`)
	flags.StringVar(&c.baseURL, "base-url", "", `The address of the site as the public sees it, such as
https://files.example.org/. All addresses in the documents begin with
it. A proxy in front must pass paths on as they are.
Default: http:// and the address of --listen`)
	flags.StringVar(&c.prefix, "prefix", "/resourcesync/", `Where the ResourceSync documents are, below the base URL. A folder of
this name in DIR is not published, because it would be in their way. With /
they are at the top, and files and folders whose names they have are not
published; the log names them.
Default: /resourcesync/`)
	flags.StringVar(&c.hash, "hash", "sha-256", `The checksums to publish for each file: md5, sha-256, md5,sha-256 or none. With
none, the first scan only looks at files and reads few of them; others then
cannot tell whether a copy is right, and packages are read twice.
Default: sha-256`)
	flags.IntVar(&c.pageSize, "page-size", 10_000, `How many files one document lists, 1 to 50000. Longer lists are divided.
Default: 10000`)
	flags.DurationVar(&c.rescan, "rescan", 5*time.Minute, `When to look through the whole folder again, such as 30s, 5m or 1h. Most
changes are noticed at once; this finds those that are not, on network
drives for example. Only files that have changed are read.
Default: 5m`)
	c.maxDelete = 0.25
	flags.Var(&c.maxDelete, "max-delete", `How much of the folder may disappear before its deletions are held, because
a volume that is not mounted looks the same. They wait for "resourcesync
confirm-deletions" or for --max-delete-hold; new and changed files are
published meanwhile. Deletions are added up over an hour or two. One or two
are never held, unless the set would become empty. 100% holds nothing, and
publishes what is held.
Default: 25%`)
	c.hold = span(time.Hour)
	flags.Var(&c.hold, "max-delete-hold", `How long deletions are held: when nothing has come back for so long, and no
scan has missed many more, they are published. 0 is until they are confirmed.
Default: 1h`)
	flags.StringVar(&c.state, "state", "", `Where to keep the checksums of the files and the list of changes from one
start to the next: a file outside of DIR, or a PostgreSQL database, as in
postgres://user@host/database, which all servers of one site share.
Default: a file in your cache folder, named after DIR`)
	flags.BoolVar(&c.moved, "moved", false, `Accept the state of a folder that was somewhere else until now. The state
records the path of DIR, and another folder is refused otherwise: all
files that it does not have would be published as deleted. Give it once,
after DIR has moved. A state in PostgreSQL records no path, because each
server of the site may have the files in another place.`)
	c.window = span(day)
	flags.Var(&c.window, "window", `How much time one list of changes covers at most, such as 1h, 24h or 7d, when
there are more than --page-size changes and so more than one list.
Default: 24h`)
	c.retain = span(90 * day)
	flags.Var(&c.retain, "retain", `How long changes stay listed, such as 48h or 90d. Whoever asks for them less
often must begin again with the whole list of files.
Default: 90d`)
	flags.Var(&c.archive, "archive", `How long lists of changes stay available in an archive after --retain, such as
730d, counted from when the changes were made. 0 is no archive.
Default: 0`)
	flags.BoolVar(&c.dumps, "dumps", true, `Offer the files in packages as well, ZIP files that exist only while they
are sent: whoever copies everything needs far fewer requests.
--dumps=false switches that off.
Default: true`)
	c.pkgSize = 16 << 20
	flags.Var(&c.pkgSize, "package-size", `How much one package holds at most, such as 500MB or 4GiB. A file that is
larger has a package for itself. The transfer of a package ends early when a
file in it changes, so keep packages small if files change often.
Default: 16MiB`)
	c.pkgEvery = span(time.Hour)
	flags.Var(&c.pkgEvery, "package-every", `How often the versions that --keep-versions keeps are made a package, if
there are any, such as 15m or 1h. A package that is full is made earlier.
Default: 1h`)
	flags.Var(&c.keep, "keep-versions", `How long to keep a copy of each version of a file that changes, such as 48h
or 30d. What has changed is then offered in packages as well, and each version
has an address of its own (Memento), also when the file has been deleted. With
0, none are kept.
Default: 0`)
	flags.StringVar(&c.versions, "versions", "", `The folder for those copies, which nothing else may be kept in. It must be
given when the state is in a database: all servers of one site share it then.
Default: a folder beside the state, named after it`)
	pushFlags(flags, &c.push)
	flags.Func("client-header", `The header in which a proxy in front gives the address of the client, such as
X-Forwarded-For; the last address in it counts. The limits for each client, on
packages and on the hub, go by it. Give it only behind a proxy that sets the
header, because clients could set it as well.
Default: none`, func(text string) error {
		c.client = http.CanonicalHeaderKey(text)
		return checkClientHeader(text)
	})
	flags.BoolVar(&c.sitemap, "sitemap", false, `Publish a plain sitemap for search engines too: sitemap.xml, below the
prefix. robots.txt names it then. A robots.txt in DIR gets a line for it when
it is served, and is not listed any more. Search engines believe a sitemap only
about what is below its own folder: give --prefix / to have it at the top.`)
	flags.BoolVar(&c.robots, "robots-resource-list", false, `Name the Resource List in robots.txt, where Destinations find it that know
only the site. Search engines read robots.txt as well, and object to the
ResourceSync elements of the list.`)
	flags.StringVar(&c.about, "described-by", "", `The address of a document about this Source, for the Source Description to
link to: who runs it, which terms apply.
Default: none`)
	flags.StringVar(&c.aboutSet, "set-described-by", "", `The address of a document about the files, for the Source Description and the
Capability List to link to: what they are, which metadata they have.
Default: none`)
	flags.BoolVar(&c.dotFiles, "dot-files", false, `Publish files and folders whose names begin with a dot, too.`)
	flags.StringVar(&c.status, "status", "", `A second address and port, at which operators are told how all is, as JSON:
the last scan, what was served, how far each hub and subscriber has come, and
what is wrong. Keep it to this computer or your own network.
Default: none`)
	flags.StringVar(&c.logFormat, "log-format", "text", `How messages are written: text, or json for programs that collect them.
Default: text`)
	return flags
}
