package build

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/bucketurl"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/internal/paths"
)

// A Config is the command line of build.
type Config struct {
	site   *site.Config
	folder *origin.Folder

	out       string
	bucket    *bucketurl.Bucket // out, parsed; nil if it is a folder
	gzip      bool
	grace     time.Duration // zero to remove files at once
	dumpEvery time.Duration
	json      bool
}

// sharedWithServe are the settings that build has in common with serve.
var sharedWithServe = []string{
	"archive", "base-url", "described-by", "dot-files", "dumps", "exclude", "hash", "keep-versions", "log-format", "max-delete", "max-delete-hold", "moved",
	"package-every", "package-size", "page-size", "prefix", "retain", "set-described-by", "sitemap", "state", "state-file", "versions", "window",
}

// New returns the settings of build, and their catalog.
func New() (*Config, *settings.Catalog) {
	b := &Config{folder: &origin.Folder{Common: origin.Common{Kind: "folder"}}}
	b.site = site.New(b.folder)
	c := new(settings.Catalog)
	c.Take(b.site.Catalog, "folder")
	c.Add(
		settings.Setting{Name: "out", Value: settings.Text(&b.out), Need: "the folder or bucket for the documents", Example: "/var/www/html", Offer: completion.Folders,
			Text: `The folder for the documents: the root of the site. It is created if it does not exist, but not
				the folders above it. Or a bucket, or a part of one, as s3://NAME/PREFIX, gs://NAME or azblob://NAME.`},
		settings.Setting{Name: "gzip", Value: settings.Bool(&b.gzip),
			Text: `Write a compressed copy beside each document, with the ending .gz, for web servers that send such
				files, as nginx does with gzip_static. In a bucket, documents are stored compressed instead, with
				the header Content-Encoding.`},
		settings.Setting{Name: "grace", Value: settings.Span(&b.grace), Default: "24h",
			Text: `How long a document or package stays after no other document lists it, for Destinations that have
				read an earlier index. With 0, it is removed at once.`},
		settings.Setting{Name: "dumps-every", Value: settings.Span(&b.dumpEvery), Default: "24h", Group: settings.Dumps,
			Text: `The minimum time between two versions of the Resource Dump. With 0, each run brings it up to date.
				Destinations that have copied an older dump continue with the Change List.`},
		settings.Setting{Name: "json", Value: settings.Bool(&b.json),
			Text: "Print the result as JSON, with the names of all files that were written or removed."},
	)
	c.Take(b.site.Catalog, sharedWithServe...)
	c.Change(settings.Setting{Name: "dumps", Default: "false",
		Text: `Write Resource Dumps as well: ZIP packages with the files. They take as much disk space as DIR,
			and twice as much while an older dump stays for --grace.`})
	c.Change(settings.Setting{Name: "base-url", Need: "the public URL of the folder", Example: "https://files.example.org/",
		Text: `The public URL of DIR, such as https://files.example.org/. All URLs in the documents begin with
			it.`})
	c.Change(settings.Setting{Name: "keep-versions",
		Text: `How long to keep past versions of files, such as 30d, and write them as ZIP packages of a Change
			Dump. 0 keeps none. Needs --dumps, and a sha-256 in --hash.`})
	c.Change(settings.Setting{Name: "package-size",
		Text: `The maximum content of one package, such as 500MB or 4GiB. A larger file has its own package. A
			change of a file replaces its package.`})
	c.Change(settings.Setting{Name: "sitemap",
		Text: `Write a plain sitemap for search engines too: sitemap.xml, below the prefix. Name it in robots.txt
			yourself. Search engines accept a sitemap only for URLs below its own folder; --prefix / puts it
			at the top of the site.`})
	return b, c
}

// Check parses --out, and returns an error for settings that do not go together.
func (c *Config) Check() error {
	var f settings.Faults
	f.If(c.folder.Keep > 0 && !c.folder.Dumps, "keep-versions", "is for Change Dumps; give --dumps as well")
	f.If(c.grace < 0, "grace", "give a time such as 24h, or 0")
	f.If(c.dumpEvery < 0, "dumps-every", "give a time such as 24h, or 0")
	if bucketurl.Is(c.out) {
		at, err := bucketurl.Parse(c.out)
		if err != nil {
			f.Add(settings.Errorf("--out: %w", err)) // without the value, which may have a password
		}
		c.bucket = at
		f.If(c.gzip && at != nil && at.Decompresses(), "gzip", "is not for gs://, because Google Cloud Storage decompresses such objects for some clients; leave it out")
	}
	f.Add(c.site.Check())
	return f.Err()
}

// verify checks the folders.
func (c *Config) verify() error {
	if err := c.site.Verify(); err != nil {
		return err
	}
	if c.bucket != nil {
		return nil
	}
	if info, err := os.Stat(c.out); err == nil && !info.IsDir() {
		return settings.Errorf("--out %q is a file; give the folder for the documents", c.out)
	}
	if in := filepath.Dir(filepath.Clean(c.out)); !paths.Exists(in) {
		return settings.Errorf("--out %q: there is no folder %q; make it, or give a folder in another", c.out, in)
	}
	return nil
}

// orAtOnce returns d for an option of package static, in which zero is the default.
func orAtOnce(d time.Duration) time.Duration { return cmp.Or(d, -1) }
