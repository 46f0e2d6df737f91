package origin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/scan"
)

// The values of --exclude that are not patterns.
const (
	litter     = "litter"
	noPatterns = "none"
)

// exclusions are values of --exclude.
type exclusions []string

func (e *exclusions) add(given string) error {
	if given != litter && given != noPatterns {
		if err := dir.CheckPattern(given); err != nil {
			return err
		}
	}
	*e = append(*e, given)
	return nil
}

// of returns the effective values for a stored set. Without the flag, the value litter applies to
// a new set, and to a set that has recorded it. It does not apply to other sets, because
// its deletions were not requested.
func (e exclusions) of(ctx context.Context, set scan.Stored) (exclusions, error) {
	if len(e) > 0 {
		return e, nil
	}
	_, err := set.Stat(ctx, resourcesync.Range{})
	if errors.Is(err, resourcesync.ErrNotReady) { // no scan has completed it
		return exclusions{litter}, nil
	}
	if err != nil {
		return nil, err
	}
	recorded, err := scan.Recorded(ctx, set)
	if err != nil || !slices.Contains(strings.Split(recorded.Excluded, "\n"), litter) {
		return nil, err
	}
	return exclusions{litter}, nil
}

// patterns returns the patterns that the values mean.
func (e exclusions) patterns() (all []string) {
	for _, given := range e {
		switch given {
		case litter:
			all = append(all, dir.Litter...)
		case noPatterns:
		default:
			all = append(all, given)
		}
	}
	return all
}

// record returns the text that a set records for the values and their patterns. The word
// litter is for the next start; its patterns may differ in another version.
func (e exclusions) record(patterns string) string {
	if slices.Contains(e, litter) {
		return litter + "\n" + patterns
	}
	return patterns
}
