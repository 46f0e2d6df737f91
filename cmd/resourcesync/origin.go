package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// An origin is the source of a state: the path of the folder as given, and
// free of symbolic links. A folder is the same if either is: a link may lead to each
// release in turn, and a folder may be reached by several links.
type origin struct {
	Given string `json:"given"`
	Real  string `json:"real"`

	// Source names the origin of other sets, such as a table, for people.
	Source string `json:"source,omitempty"`

	// BaseURL is the beginning of all URIs in the state. It is "" if unknown: during
	// the first scan with another one, and in states of earlier versions.
	BaseURL string `json:"base_url,omitempty"`
}

func readOrigin(ctx context.Context, set *sqlstore.Set) (o origin, err error) {
	recorded, err := set.Origin(ctx)
	if err != nil || recorded == "" {
		return o, err
	}
	if err := json.Unmarshal([]byte(recorded), &o); err != nil {
		return o, fmt.Errorf("the record of its folder cannot be read: %w", err)
	}
	return o, nil
}

func (o origin) record(ctx context.Context, set *sqlstore.Set) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return set.SetOrigin(ctx, string(text))
}

// checkSource is checkOwner for sets whose origin has a name that people understand, such as
// "table posts of mysql://db.example.org/cms".
func (s *setSettings) checkSource(ctx context.Context, set *sqlstore.Set, source string) (origin, error) {
	now := origin{Source: source}
	before, err := readOrigin(ctx, set)
	if was := cmp.Or(before.Source, before.Real, before.BaseURL); err == nil && was != "" && before.Source != source && !s.moved {
		err = fmt.Errorf("has in this set the resources of %s, not of %s; if they are the same, start once with --moved; otherwise give the set another name, or another file with --state", was, source)
	}
	return now, err
}

// currentURIs returns a [content].current for sets whose URIs follow from a template or a
// base URL: the stored set is shown if its URIs follow from the same.
func (m *member) currentURIs(template string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		o, err := readOrigin(ctx, m.set.Set)
		switch {
		case err != nil || o.BaseURL == template:
			return err
		case m.scanner.complete:
			o.BaseURL = template
			return o.record(ctx, m.set.Set)
		case o.BaseURL != "":
			// The next scan may be interrupted, which leaves URIs of both.
			o.BaseURL = ""
			if err := o.record(ctx, m.set.Set); err != nil {
				return err
			}
		}
		return resourcesync.ErrNotReady
	}
}

// hasAny reports whether a folder has at least one of the files in set, or set is empty.
func hasAny(ctx context.Context, set *sqlstore.Set, folder string) (bool, error) {
	empty := true
	for r, err := range set.Resources(ctx, resourcesync.Range{}) {
		if errors.Is(err, resourcesync.ErrNotReady) {
			break
		}
		if err != nil {
			return false, err
		}
		if _, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(r.Key))); err == nil {
			return true, nil
		}
		empty = false
	}
	return empty, ctx.Err()
}

// checkBaseURL returns ErrNotReady unless all URIs of the set begin with the base URL.
// The state records that they do. It reads the resources only if there is no record.
func (s *folderSet) checkBaseURL(ctx context.Context) error {
	o, err := readOrigin(ctx, s.set.Set)
	switch {
	case err != nil || o.BaseURL == s.baseURL:
		return err
	case s.scanner.complete:
		s.recordBaseURL(ctx, o)
		return nil
	case o.BaseURL != "":
		// The next scan may be interrupted, which leaves URIs of both.
		o.BaseURL = ""
		if err := o.record(ctx, s.set.Set); err != nil {
			return err
		}
		return resourcesync.ErrNotReady
	}
	checked, err := s.checkURIs(ctx)
	if errors.Is(err, sqlstore.ErrDamaged) {
		if checked == 0 {
			return resourcesync.ErrNotReady // a scan may replace it
		}
		return nil // so that the other documents are served
	}
	if err == nil {
		s.recordBaseURL(ctx, o)
	}
	return err
}

// checkURIs returns how many resources of the set it has found to have the URIs that
// they have now, and ErrNotReady at the first that has another.
func (s *folderSet) checkURIs(ctx context.Context) (checked int, err error) {
	for r, err := range s.set.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			return checked, err
		}
		path, ok := strings.CutPrefix(r.URI, s.baseURL)
		if key, err := url.PathUnescape(path); !ok || err != nil || key != r.Key {
			return checked, resourcesync.ErrNotReady
		}
		checked++
	}
	return checked, nil
}

// recordBaseURL records the base URL, so that the next start need not read the
// resources.
func (s *folderSet) recordBaseURL(ctx context.Context, o origin) {
	o.BaseURL = s.baseURL
	if err := o.record(ctx, s.set.Set); err != nil {
		s.log.Warn("the base URL is not recorded; the next start reads all resources in the state", "error", err)
	}
}
