package main

import (
	"bytes"
	"regexp"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	for _, command := range []string{"version", "--version", "-version"} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), []string{command}, &stdout, &stderr)
		if status != 0 || !regexp.MustCompile(`(?m)^resourcesync \S+\n(?s:.*)^go1\S+ \w+/\w+\n$`).MatchString(stdout.String()) {
			t.Errorf("%s: status %d, %q, %q", command, status, &stdout, &stderr)
		}
	}
}

func TestVersionText(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: version}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "2771779b"}
	at := debug.BuildSetting{Key: "vcs.time", Value: "2026-11-22T14:00:00Z"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	platform := "go1.26.0 " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	for _, test := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{built("v1.2.3"), "resourcesync v1.2.3\n" + platform},
		{built("(devel)", revision, at), "resourcesync (devel)\nrevision 2771779b 2026-11-22T14:00:00Z\n" + platform},
		{built("v0.0.1+dirty", revision, at, modified), "resourcesync v0.0.1+dirty\nrevision 2771779b 2026-11-22T14:00:00Z, modified\n" + platform},
	} {
		if got := versionText(test.info); got != test.want {
			t.Errorf("got\n%swant\n%s", got, test.want)
		}
	}
	if got := revisionTime(built("v1", at)); got.Year() != 2026 || !revisionTime(built("v1")).IsZero() {
		t.Errorf("time of the revision: %v", got)
	}
}
