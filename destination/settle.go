package destination

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
)

// settle finds out which copies exist, if a process has ended, or the Sink or the state has failed,
// between the storing or deleting of content by the Sink and the record of it. A file with the
// intended content is a copy, and so is a file that was to be deleted and has not changed. Any
// other file belongs to others. It is called before anything is noted or applied.
func (d *Destination) settle(ctx context.Context) error {
	if d.unflushed {
		if err := d.prepare(ctx); err != nil {
			return err
		}
	}
	intents, err := d.state.Unsettled()
	if err != nil || len(intents) == 0 && d.folders.empty() {
		return err
	}
	identities, err := d.identify(ctx, intents)
	if err != nil {
		return err
	}
	var owned []state.Intent
	var gone, keys []string // the URIs and Keys of copies that have been deleted
	verifier, ok := d.sink.(Verifier)
	reader := &contentReader{sink: verifier, sum: sha256.New(), buf: make([]byte, 32<<10)}
	for _, i := range intents {
		if i.Deletes {
			if now := identities[0]; now == "" || now != i.Identity {
				gone, keys = append(gone, i.URI), append(keys, i.Path)
			}
			identities = identities[1:]
			continue
		}
		whole := true // for all that is known
		if ok {
			if whole, err = reader.whole(ctx, &state.Member{URI: i.URI, Resource: state.Resource{Path: i.Path, Size: i.Size, Hashes: i.Hashes}}); err != nil {
				return fmt.Errorf("reading the copy of %s: %w", i.URI, err)
			}
		}
		if whole {
			owned = append(owned, i)
		}
	}
	if f, ok := d.sink.(Forgetter); ok && len(keys) > 0 {
		if err := f.Forget(ctx, keys); err != nil {
			return fmt.Errorf("forgetting deleted copies: %w", err)
		}
	}
	err = d.state.Write(ctx, func() error {
		for i := range owned {
			if err := d.state.Own(&owned[i]); err != nil {
				return err
			}
		}
		for _, uri := range gone {
			if err := d.state.DeleteResource(uri); err != nil {
				return err
			}
		}
		return errors.Join(d.folders.save(), d.state.Placed())
	})
	if err == nil {
		d.state.Settled()
		d.folders.saved()
	}
	return err
}

// identify returns the identities of the files at the paths of deletions.
func (d *Destination) identify(ctx context.Context, intents []state.Intent) ([]string, error) {
	var keys []string
	for _, i := range intents {
		if i.Deletes {
			keys = append(keys, i.Path)
		}
	}
	verifier, ok := d.sink.(Verifier)
	if !ok || len(keys) == 0 {
		return make([]string, len(keys)), nil
	}
	identities, err := verifier.Identify(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("looking at copies that are to be deleted: %w", err)
	}
	return identities, nil
}

// prepare discards changes that the Sink has not flushed.
func (d *Destination) prepare(ctx context.Context) error {
	if p, ok := d.sink.(Preparer); ok {
		if err := p.Prepare(ctx, d.folders); err != nil {
			return fmt.Errorf("preparing the copy: %w", err)
		}
	}
	d.unflushed = false
	return nil
}

// A folderLog is the FolderLog of a Destination. Its changes are recorded together with the
// group: after a crash in between, a new folder counts as foreign.
type folderLog struct {
	state   *state.State
	changed map[string]bool // whether the folder has been made; false if it has been removed
}

func (l *folderLog) empty() bool { return len(l.changed) == 0 }

// Made implements [FolderLog].
func (l *folderLog) Made(folder string) { l.changed[folder] = true }

// Removed implements [FolderLog].
func (l *folderLog) Removed(folder string) { l.changed[folder] = false }

// IsMade implements [FolderLog].
func (l *folderLog) IsMade(folder string) (bool, error) {
	if made, changed := l.changed[folder]; changed {
		return made, nil
	}
	return l.state.Made(folder)
}

// save records the changes, and saved is called when they are committed.
func (l *folderLog) save() error {
	for folder, made := range l.changed {
		change := l.state.DeleteFolder
		if made {
			change = l.state.SaveFolder
		}
		if err := change(folder); err != nil {
			return err
		}
	}
	return nil
}

func (l *folderLog) saved() { clear(l.changed) }
