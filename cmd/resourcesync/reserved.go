package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A place in a folder is the key of a file, or of a folder. Where it is reserved,
// documents have its URLs, so its files cannot be published.
type place struct {
	key   string
	isDir bool
}

// robotsFile is reserved if lines are added to it: its entry would not match the
// served file.
var robotsFile = place{"robots.txt", false}

// reserve reserves the places of documents among the files: the folder of the
// prefix, or the names of all documents if there is no such folder; and the
// well-known URI and robots.txt if they are below the base URL. The hub is at the
// path of a folder, where there is no file.
func (p *publication) reserve(c *serveConfig) {
	if folder := strings.Trim(c.prefix, "/"); folder != "" {
		p.reserved = append(p.reserved, place{folder, true})
	} else {
		for _, path := range append(p.source.Paths(), "healthz", "readyz") {
			key, isDir := strings.CutSuffix(path, "/")
			p.reserved = append(p.reserved, place{key, isDir})
		}
	}
	add := func(path string) {
		key, below := strings.CutPrefix(path, p.base.Path)
		if at := (place{key, false}); below && !slices.Contains(p.reserved, at) {
			p.reserved = append(p.reserved, at)
		}
	}
	if c.dotFiles {
		add(wellknown.Path)
	}
	if p.robots {
		add("/robots.txt")
	}
}

// withRobots serves the robots.txt of the folder if it is reserved, so that the Source
// can add lines to it.
func (p *publication) withRobots(files http.Handler) http.Handler {
	if !slices.Contains(p.reserved, robotsFile) {
		return files
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			files.ServeHTTP(w, r)
			return
		}
		if !reqbody.None(w, r) {
			return
		}
		text, err := p.readRobots()
		if errors.Is(err, fs.ErrNotExist) {
			http.NotFound(w, r)
			return
		}
		if err != nil {
			// Not 404: crawlers would take that for permission to read everything.
			p.robotsLog.Log(r.Context(), p.log, slog.LevelError, "robots.txt cannot be read", slog.Any("error", err))
			http.Error(w, "robots.txt cannot be read at the moment.", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write(text)
	})
}

// readRobots returns the robots.txt of the folder, if it is a regular file inside
// the folder.
func (p *publication) readRobots() ([]byte, error) {
	root, err := os.OpenRoot(p.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(robotsFile.key)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: %w", robotsFile.key, fs.ErrNotExist)
	}
	if info.Size() > wellknown.MaxRobots {
		return nil, fmt.Errorf("%s must be a file of at most %d bytes", robotsFile.key, wellknown.MaxRobots)
	}
	return root.ReadFile(robotsFile.key)
}
