package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

func version(_ context.Context, args []string, stdout, _ io.Writer) error {
	if err := parseAlone("version", new(settings.Catalog), args); err != nil {
		return err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this program was built without information about its version")
	}
	_, err := io.WriteString(stdout, versionText(info))
	return err
}

// versionText returns the version of the module, the revision that it was built from, if
// it was built in a repository, and the version of Go.
func versionText(info *debug.BuildInfo) string {
	var b strings.Builder
	fmt.Fprintln(&b, "resourcesync", info.Main.Version)
	if revision := setting(info, "vcs.revision"); revision != "" {
		fmt.Fprint(&b, "revision ", revision, " ", setting(info, "vcs.time"))
		if setting(info, "vcs.modified") == "true" {
			fmt.Fprint(&b, ", modified")
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "%s %s/%s\n", info.GoVersion, runtime.GOOS, runtime.GOARCH)
	return b.String()
}

// revisionTime returns when the revision was committed; zero if that is unknown.
func revisionTime(info *debug.BuildInfo) time.Time {
	t, _ := time.Parse(time.RFC3339, setting(info, "vcs.time")) // zero if it is empty
	return t
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
