package daemon

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
)

// TestTexts: joined errors are several problems; an error that wraps several with fmt.Errorf is one.
func TestTexts(t *testing.T) {
	reset, lost := errors.New("connection reset"), errors.New("the lock was lost")
	wrapped := fmt.Errorf("the documents cannot be published: %w: %w", lost, reset)
	m := &Member{Set: &origin.Set{Name: "papers"}}
	got := texts("state.db", errors.Join(m.named(errors.Join(wrapped, reset)), reset, errors.Join(reset)))
	want := []string{"connection reset", "set papers: connection reset", "set papers: " + wrapped.Error()}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
