package destination

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// A sizeError means that the copy would exceed Options.MaxBytes with a resource.
type sizeError struct {
	max int64
	uri string
}

func (e *sizeError) Error() string {
	return fmt.Sprintf("the copy would have more than %d bytes with %s", e.max, e.uri)
}

// isStateFull reports whether the state has no room.
func isStateFull(err error) bool {
	_, full := errors.AsType[*state.FullError](err)
	return full
}

// isDiskFull reports whether the disk of the copy or of its state has no room.
func isDiskFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || isStateFull(err) }

// makeRoom applies the pending deletions after a run has failed because the disk is full or the copy would be too large.
// They may be behind the change that does not fit, so that no run would ever come to them.
func (r *run) makeRoom(ctx context.Context, failed error) error {
	_, large := errors.AsType[*sizeError](failed)
	if !large && !isDiskFull(failed) {
		return nil
	}
	waiting, err := r.state.PendingDeletions(0, 1)
	if err != nil || len(waiting) == 0 {
		return err
	}
	if !large { // the state needs room to record them
		if err := fetch.RemovePartial(r.folder, none); err != nil {
			return err
		}
	}
	err = r.applyAll(ctx, 0, func(after int64) ([]state.Pending, error) {
		return r.state.PendingDeletions(after, applyBatch)
	})
	if isDiskFull(err) {
		return nil // the run has failed with that
	}
	return err
}

// none yields no URIs.
func none(func(string, error) bool) {}
