package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Download requests a resource and verifies it. A broken transfer is resumed, if the
// server has a validator to make sure that the rest belongs to the beginning. Large content
// is kept in a file in folder, and stays there if Download fails, so that another process
// can resume it.
func (c *Client) Download(ctx context.Context, folder Folder, w Want) (*Content, error) {
	ctx = withKind(ctx, resource)
	if w.Package {
		ctx = withKind(ctx, packaged)
	}
	var mismatch error
	for range 2 {
		content, err := c.download(ctx, folder, w, mismatch != nil)
		if wrong, ok := errors.AsType[*MismatchError](err); ok && mismatch == nil {
			mismatch = wrong // a cache may have an old version
			continue
		}
		return content, err
	}
	return nil, mismatch
}

// Read reads content from a file or package instead of requesting it, and verifies it. The
// file in folder can be the file of a Download.
func Read(folder Folder, w Want, r io.Reader) (*Content, error) {
	t := newTransfer(folder, w)
	err := t.restart()
	if err == nil {
		err = t.read(r)
	}
	if err == nil {
		err = t.verify()
	}
	if err != nil {
		t.abandon(err)
		return nil, err
	}
	return t.content, nil
}

func (c *Client) download(ctx context.Context, folder Folder, w Want, fresh bool) (*Content, error) {
	t := newTransfer(folder, w)
	if err := t.reopen(fresh); err != nil {
		return nil, err
	}
	for failures := 1; ; failures++ {
		before := t.size
		err := t.attempt(ctx, c, fresh)
		if err == nil {
			return t.content, nil
		}
		if t.size > before {
			failures = 1
		}
		if !errors.Is(err, ErrBroken) || failures == c.attempts || ctx.Err() != nil {
			t.abandon(err)
			return nil, err
		}
		if err := c.pause(ctx, failures); err != nil {
			t.abandon(err)
			return nil, err
		}
	}
}

// validatorSuffix is the suffix of the file with the validator of a partial file.
const validatorSuffix = ".validator"

func partialName(uri string) string {
	sum := sha256.Sum256([]byte(uri))
	return hex.EncodeToString(sum[:])
}

// RemovePartial removes the files in folder that earlier Downloads have left, except those for
// the URIs that keep yields. No Download may be running.
func RemovePartial(folder Folder, keep iter.Seq2[string, error]) error {
	entries, err := os.ReadDir(folder.Name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil || len(entries) == 0 {
		return err
	}
	kept := make(map[string]bool, len(entries))
	for _, e := range entries {
		kept[strings.TrimSuffix(e.Name(), validatorSuffix)] = false
	}
	for uri, err := range keep {
		if err != nil {
			return err
		}
		name := partialName(uri)
		if _, found := kept[name]; found {
			kept[name] = true
		}
	}
	for _, e := range entries {
		if !kept[strings.TrimSuffix(e.Name(), validatorSuffix)] {
			err = errors.Join(err, folder.remove(filepath.Join(folder.Name, e.Name()), os.RemoveAll))
		}
	}
	return err
}
