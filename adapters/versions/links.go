package versions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// linksFile is the name of the file in which Link records its decisions: a line for each
// change, with its time and whether there are links since then.
const linksFile = "links"

// A decision of Link, and the time since which it is in force.
type decision struct {
	since  time.Time
	linked bool
}

// Link decides whether Change Lists link to the versions after changes from now on, and
// reports it: they do if the Store keeps versions at least as long as the lists are retained.
// Otherwise the links of a list would lead nowhere in the end, and a closed list must not
// change. The folder records the decisions, so that earlier changes keep the links they have.
// Without a call of Link, all changes have links.
func (s *Store) Link(retain time.Duration) (linked bool, err error) {
	made, err := s.readLinks()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
		if !s.isNew { // all changes had links
			made = []decision{{linked: true}}
		}
	}
	if err != nil {
		return false, fmt.Errorf("versions: %w", err)
	}
	linked = s.keep >= retain
	if n := len(made); n == 0 || made[n-1].linked != linked {
		made = append(made, decision{time.Now().UTC().Truncate(time.Microsecond), linked})
		if err := s.writeLinks(made); err != nil {
			return false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = made
	return linked, nil
}

// Linked reports whether Change Lists link to the version after a change at the time t. The
// answer never changes.
func (s *Store) Linked(t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	linked := len(s.links) == 0
	for _, d := range s.links {
		if !d.since.After(t) {
			linked = d.linked
		}
	}
	return linked
}

func (s *Store) readLinks() ([]decision, error) {
	text, err := os.ReadFile(filepath.Join(s.path, linksFile))
	if err != nil {
		return nil, err
	}
	var made []decision
	for line := range strings.Lines(string(text)) {
		since, linked, _ := strings.Cut(strings.TrimSpace(line), " ")
		var d decision
		if d.since, err = time.Parse(time.RFC3339Nano, since); err == nil {
			d.linked, err = strconv.ParseBool(linked)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", linksFile, err)
		}
		made = append(made, d)
	}
	return made, nil
}

func (s *Store) writeLinks(made []decision) error {
	f, err := os.CreateTemp(s.path, newPrefix)
	if err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	for _, d := range made {
		if err == nil {
			_, err = fmt.Fprintln(f, d.since.Format(time.RFC3339Nano), d.linked)
		}
	}
	return finish(f, filepath.Join(s.path, linksFile), err)
}
