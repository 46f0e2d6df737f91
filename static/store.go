package static

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// store brings the file of d up to date.
func (w *writer) store(ctx context.Context, d *doc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := d.name
	if !fs.ValidPath(name) {
		return fmt.Errorf("no file can have the path %q", name)
	}
	w.live[name] = true
	was := w.known.Files[name]
	if fresh, err := w.isFresh(was, d); err != nil || fresh {
		return err
	}
	content, err := w.src.open(ctx, d)
	if err != nil {
		return err
	}
	defer content.close()
	g := d.group()
	now := &file{Set: g.set, Capability: g.capability, Validator: d.validator}
	if now.Plain, err = w.storeFile(name, was != nil, content); err != nil {
		return err
	}
	switch zipped := content.zipped(); {
	case w.options.Gzip && zipped != nil:
		copied, err := w.storeFile(name+gz, was != nil && was.Gzip != nil, text(zipped))
		if err != nil {
			return err
		}
		now.Gzip = &copied
	case was != nil && was.Gzip != nil: // it would be sent instead
		if err := w.remove(name + gz); err != nil {
			return err
		}
	}
	w.known.Files[name] = now
	return nil
}

// isFresh reports whether the file of d is unchanged since it was written, and still shows
// the current document.
func (w *writer) isFresh(was *file, d *doc) (bool, error) {
	if was == nil || d.validator == "" || was.Validator != d.validator {
		return false, nil
	}
	intact, err := w.isIntact(d.name, was)
	if was.Gzip == nil && w.options.Gzip && !isPackage(d.name) || was.Gzip != nil && !w.options.Gzip {
		intact = false
	}
	return intact, err
}

// isIntact reports whether no other program has changed or removed the files of was.
func (w *writer) isIntact(name string, was *file) (bool, error) {
	now, found, err := w.files.stat(name)
	if err != nil || !found || now != was.Plain {
		return false, err
	}
	if was.Gzip == nil {
		return true, nil
	}
	now, found, err = w.files.stat(name + gz)
	return found && now == *was.Gzip, err
}

// storeFile writes content into the file name unless it has that content already. ours says that
// an earlier Write has written the file.
func (w *writer) storeFile(name string, ours bool, content io.WriterTo) (stamp, error) {
	ours = ours || partName.MatchString(name)
	now, found, same, err := w.files.compare(name, content)
	switch {
	case err != nil || same:
		return now, err
	case found && !ours:
		return now, fmt.Errorf("%s exists, and has not been written by this program; move it away, or give another folder or prefix", name)
	}
	if !ours {
		// If Write is killed here, the next one must not take the file for a foreign one.
		w.known.Files[strings.TrimSuffix(name, gz)] = &file{Gzip: zeroIf(strings.HasSuffix(name, gz))}
		w.known.Unfinished = true
		if err := w.known.write(w.files); err != nil {
			return now, err
		}
	}
	if err := w.begin(); err != nil {
		return now, err
	}
	if now, err = w.files.write(name, content); err != nil {
		return now, err
	}
	w.report.Written = append(w.report.Written, name)
	w.report.Bytes += now.Size
	return now, nil
}

// zeroIf returns the stamp of a file that is about to be written, or nil.
func zeroIf(written bool) *stamp {
	if !written {
		return nil
	}
	return new(stamp)
}

// begin records that files change from now on.
func (w *writer) begin() error {
	if w.known.Unfinished {
		return nil
	}
	w.known.Unfinished = true
	return w.known.write(w.files)
}

// remove removes a file.
func (w *writer) remove(name string) error {
	err := w.begin()
	if err == nil {
		err = w.files.remove(name)
	}
	if err == nil {
		w.report.Removed = append(w.report.Removed, name)
	}
	return err
}
