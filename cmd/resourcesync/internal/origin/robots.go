package origin

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// RobotsPath is reserved if lines are added to robots.txt: its entry would not match the
// served file.
const RobotsPath = "/robots.txt"

// withRobots serves the robots.txt of the folder if it is reserved, so that the Source
// can add lines to it.
func (s *folderSet) withRobots(files http.Handler) http.Handler {
	if s.Base.Path != "/" {
		return files
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != RobotsPath || !s.isReserved(RobotsPath) {
			files.ServeHTTP(w, r)
			return
		}
		if !reqbody.None(w, r) {
			return
		}
		text, err := s.readRobots()
		if errors.Is(err, fs.ErrNotExist) {
			http.NotFound(w, r)
			return
		}
		if err != nil {
			// Not 404: crawlers would take that for permission to read everything.
			s.sparse.Log(r.Context(), s.Log, slog.LevelError, "robots.txt cannot be read", slog.Any("error", err))
			http.Error(w, "robots.txt cannot be read at the moment.", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write(text)
	})
}

const robotsFile = "robots.txt" // in a folder whose files have the URLs of the host

// readRobots returns the robots.txt of the folder, if it is a regular file inside
// the folder.
func (s *folderSet) readRobots() ([]byte, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(robotsFile)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: %w", robotsFile, fs.ErrNotExist)
	}
	if info.Size() > wellknown.MaxRobots {
		return nil, fmt.Errorf("%s must be a file of at most %d bytes", robotsFile, wellknown.MaxRobots)
	}
	return root.ReadFile(robotsFile)
}
