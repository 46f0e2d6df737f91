package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

// The error in the log of a host says whether content differs or does not exist.
func TestMismatchError(t *testing.T) {
	missing := fmt.Errorf("paper 1: %w", fs.ErrNotExist)
	for _, test := range []struct {
		reason error
		want   string
	}{
		{missing, "the content of https://example.org/1 cannot be opened: paper 1: file does not exist"},
		{errors.New("it has 1 bytes, not 2"), "the content of https://example.org/1 differs from its entry: it has 1 bytes, not 2"},
	} {
		err := &mismatchError{"https://example.org/1", test.reason}
		if err.Error() != test.want {
			t.Errorf("%q, not %q", err, test.want)
		}
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q would mean that the package does not exist", err)
		}
	}
}
