package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A buildConfig is the command line of build.
type buildConfig struct {
	site   *siteConfig
	folder *folderConfig

	out       string
	gzip      bool
	grace     span // zero to remove files at once
	dumpEvery span
	json      bool
}

// sharedWithServe are the flags that build has in common with serve.
var sharedWithServe = []string{
	"archive", "base-url", "described-by", "dot-files", "dumps", "hash", "keep-versions", "log-format", "max-delete", "max-delete-hold", "moved",
	"package-every", "package-size", "page-size", "prefix", "retain", "set-described-by", "sitemap", "state", "versions", "window",
}

func buildFlags(c *buildConfig) *flag.FlagSet {
	c.folder = kindOf("serve").create().(*folderConfig)
	c.folder.kind = "folder"
	c.site = &siteConfig{sets: []setConfig{c.folder}}
	all := commandFlags("build", c.site, c.folder)
	flags := newFlags("build")
	for _, name := range sharedWithServe {
		flags.Var(all.Lookup(name).Value, name, "")
	}
	setDefault(flags, "dumps", "false")
	c.grace, c.dumpEvery = span(day), span(day)
	flags.StringVar(&c.out, "out", "", "")
	flags.BoolVar(&c.gzip, "gzip", false, "")
	flags.Var(&c.grace, "grace", "")
	flags.Var(&c.dumpEvery, "dumps-every", "")
	flags.BoolVar(&c.json, "json", false, "")
	return flags
}

// parseBuild reads the arguments of build. The error is flag.ErrHelp for --help.
func parseBuild(args []string) (*buildConfig, error) {
	c := new(buildConfig)
	others, err := parse(buildFlags(c), args)
	if err == nil {
		err = kindOf("serve").setArgument(c.folder, others)
	}
	if err == nil {
		err = missing("build", "folder", append(c.folder.required(),
			requirement{"out", "the folder for the documents", "/var/www/html", c.out},
			requirement{"base-url", "the public URL of the folder", "https://files.example.org/", c.site.baseURL})...)
	}
	switch {
	case err != nil:
	case c.folder.keep > 0 && !c.folder.dumps:
		err = errors.New("--keep-versions is for Change Dumps; give --dumps as well")
	case c.grace < 0 || c.dumpEvery < 0:
		err = fmt.Errorf("--grace %v, --dumps-every %v: give times such as 1h or 24h, or 0", &c.grace, &c.dumpEvery)
	}
	if err != nil {
		return nil, refuse("build", err)
	}
	return c, c.site.check()
}

// verify checks the folders.
func (c *buildConfig) verify() error {
	if err := c.folder.verify(); err != nil {
		return err
	}
	if info, err := os.Stat(c.out); err == nil && !info.IsDir() {
		return usagef("--out %q is a file; give the folder for the documents", c.out)
	}
	if in := filepath.Dir(filepath.Clean(c.out)); !exists(in) {
		return usagef("--out %q: there is no folder %q; make it, or give a folder in another", c.out, in)
	}
	return nil
}

// orAtOnce returns d for an option of package static, in which zero is the default.
func orAtOnce(d span) time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}
