package scan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// identityRetry is the longest delay after the identity could not be recorded.
const identityRetry = time.Minute

// An Identifier is an Origin with an identity. Without it, the set accepts any origin.
type Identifier interface {
	// Identity returns the identity of the origin.
	Identity() Identity
}

// A Recognizer is an [Identifier] that can be the same under another name.
type Recognizer interface {
	// Recognizes reports whether the resources in set can come from the origin. It is
	// called if the recorded Identity has the same Given and another Name.
	Recognizes(ctx context.Context, set Stored) (bool, error)
}

// An Identity says where resources come from. Sets record it in their state.
type Identity struct {
	// Name is the origin for people and comparisons: the real path of a folder,
	// "bucket s3://papers". If empty, the origin is neither recorded nor compared.
	Name string

	// Given is the name that the operator has given, if it can lead to another origin
	// later, such as a path with symbolic links.
	Given string

	// URIs is the base URL or the template from which the URIs of the resources follow.
	// While the stored resources follow from another one, the set is not ready.
	URIs string

	// Excluded is the rule by which the origin leaves out resources, if it is an [Excluder].
	// It can be any text that changes whenever the rule changes.
	Excluded string
}

// An Excluder is an [Identifier] that leaves out resources by a rule. If the recorded rule
// differs, the next complete scan first deletes the resources that the rule excludes. The
// rule requests these deletions, so they are neither held nor counted.
type Excluder interface {
	// Excludes reports whether the rule excludes the resource with this key.
	Excludes(key string) bool
}

// An OriginError means that a set has the resources of another origin.
type OriginError struct {
	Recorded, Origin Identity
}

// Error implements error.
func (e *OriginError) Error() string {
	if e.Origin.Given != "" && e.Recorded.Given == e.Origin.Given {
		return fmt.Sprintf("%q now points to %s, which shares no resources with %s, the recorded origin; if this is intended, set scan.Options.Moved for one start", e.Origin.Given, e.Origin.Name, e.Recorded.Name)
	}
	return fmt.Sprintf("the set has the resources of %s, not those of %s; if they have moved, set scan.Options.Moved for one start", e.Recorded.Name, e.Origin.Name)
}

// An identityRecord is an Identity in a state. Older states have the real path of a folder
// or the base URL of a website in place of the name.
type identityRecord struct {
	Given    string `json:"given"`
	Real     string `json:"real"`
	Source   string `json:"source,omitempty"`
	BaseURL  string `json:"base_url,omitempty"`
	Excluded string `json:"excluded,omitempty"`
}

// Recorded returns the identity of the origin of the resources in set. It is zero if none is
// recorded. Its URIs are empty while a scan replaces URIs that follow from another base.
func Recorded(ctx context.Context, set Stored) (Identity, error) {
	text, err := set.Origin(ctx)
	if err != nil || text == "" {
		return Identity{}, err
	}
	var r identityRecord
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Identity{}, fmt.Errorf("scan: the record of the set's origin cannot be read: %w", err)
	}
	return Identity{Name: cmp.Or(r.Source, r.Real, r.BaseURL), Given: r.Given, URIs: r.BaseURL, Excluded: r.Excluded}, nil
}

func (id Identity) record(ctx context.Context, set Stored) error {
	text, err := json.Marshal(identityRecord{Given: id.Given, Source: id.Name, BaseURL: id.URIs, Excluded: id.Excluded})
	if err != nil {
		return err
	}
	return set.SetOrigin(ctx, string(text))
}

// Compare returns an [*OriginError] if set has the resources of an origin other than the one that
// id names. Before the first complete scan, the set has published none: its origin can still be
// corrected. recognizes may be nil.
func Compare(ctx context.Context, set Stored, id Identity, recognizes Recognizer) error {
	recorded, err := Recorded(ctx, set)
	if err != nil || recorded.Name == "" || recorded.Name == id.Name {
		return err
	}
	if _, err := set.Stat(ctx, resourcesync.Range{}); err != nil {
		if errors.Is(err, resourcesync.ErrNotReady) {
			err = nil
		}
		return err
	}
	if recognizes != nil && id.Given != "" && recorded.Given == id.Given {
		same, err := recognizes.Recognizes(ctx, set)
		if err != nil || same {
			return err
		}
	}
	return &OriginError{recorded, id}
}

// identify compares the identity of the origin with the recorded one.
func (s *Set) identify(ctx context.Context) error {
	origin, ok := s.origin.(Identifier)
	if !ok {
		return nil
	}
	id := origin.Identity()
	s.identity = &id
	if s.options.Moved || !s.names() {
		return nil
	}
	recognizes, _ := s.origin.(Recognizer)
	return Compare(ctx, s.stored, id, recognizes)
}

// names reports whether the set records the name of its origin.
func (s *Set) names() bool {
	return s.identity != nil && s.identity.Name != "" && !s.options.Shared
}

// record records the name of the origin. See checkURIs and deleteExcluded for the other parts of
// its identity.
func (s *Set) record(ctx context.Context) error {
	if !s.names() {
		return nil
	}
	before, err := Recorded(ctx, s.stored)
	now := *s.identity
	now.URIs, now.Excluded = before.URIs, before.Excluded
	if err != nil || before == now {
		return err
	}
	return now.record(ctx, s.stored)
}

// keepIdentity records the identity of the origin. It retries until that succeeds or ctx ends.
// The stored resources stay published meanwhile, but no scan may begin: in a state with the
// resources of one origin and the record of another, the next start would consider them deleted.
func (s *Set) keepIdentity(ctx context.Context) {
	for retry := firstRetry; ; retry = min(2*retry, identityRetry) {
		err := s.record(ctx)
		before := s.unrecorded.Load()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if before != nil {
				s.unrecorded.Store(nil)
				s.log.Info("origin of the set recorded")
			}
			return
		case before == nil || (*before).Error() != err.Error():
			s.log.Error("cannot record the origin of the set; updates are paused: make the state writable, and make room on its disk", "error", err, "next_in", retry)
		}
		s.unrecorded.Store(&err)
		if before == nil {
			_ = s.show(ctx) // no scan shows the set before the identity is recorded
		}
		if background.Sleep(ctx, retry) != nil {
			return
		}
	}
}

// checkURIs returns ErrNotReady if the stored resources do not have the URIs that the origin's
// identity states. The state records the base or the template of their URIs.
func (s *Set) checkURIs(ctx context.Context) error {
	if s.identity == nil || s.identity.URIs == "" {
		return nil
	}
	recorded, err := Recorded(ctx, s.stored)
	if err != nil || recorded.URIs == s.identity.URIs {
		return err
	}
	next := recorded
	next.URIs = "" // the next scan may be interrupted, which leaves URIs of both
	if s.complete.Load() {
		next.URIs = s.identity.URIs
	}
	if recorded != next {
		if err := next.record(ctx, s.stored); err != nil {
			return err
		}
	}
	if next.URIs == "" {
		return resourcesync.ErrNotReady
	}
	return nil
}
