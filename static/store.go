package static

import (
	"context"
	"errors"
	"fmt"
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
	w.noteListed(name)
	if w.session != nil {
		w.session.tell(w)
	}
	was := w.known.Files[name]
	if fresh, err := w.isFresh(ctx, was, d); err != nil || fresh {
		return err
	}
	content, err := during(ctx, w, func() (content, error) { return w.src.open(ctx, d) })
	if content != nil { // even if the session ends meanwhile
		defer content.close()
	}
	if err != nil {
		return err
	}
	g := d.group()
	now := &file{Set: g.set, Capability: g.capability, Validator: d.validator}
	plain, zipped := w.contents(d, content)
	if now.Plain, err = w.storeFile(ctx, name, was != nil, plain); err != nil {
		return err
	}
	switch {
	case zipped != nil:
		copied, err := w.storeFile(ctx, name+gz, was != nil && was.Gzip != nil, *zipped)
		if err != nil {
			return err
		}
		now.Gzip = &copied
	case was != nil && was.Gzip != nil: // it would be sent instead
		if err := w.remove(ctx, name+gz); err != nil {
			return err
		}
	}
	w.known.Files[name] = now
	return nil
}

// noteListed records that a document lists the file, or leads to it.
func (w *writer) noteListed(name string) {
	w.live[name] = true
	if w.session != nil && w.session.keeps {
		w.session.listed[name] = true
	}
}

// isFresh reports whether the file of d is unchanged since it was written, and still shows
// the current document.
func (w *writer) isFresh(ctx context.Context, was *file, d *doc) (bool, error) {
	if was == nil || d.validator == "" || was.Validator != d.validator {
		return false, nil
	}
	intact, err := w.isIntact(ctx, d.name, was)
	if copied := w.copies() && !isPackage(d.name); copied != (was.Gzip != nil) {
		intact = false
	}
	return intact, err
}

// isIntact reports whether no other program has changed or removed the files of was.
func (w *writer) isIntact(ctx context.Context, name string, was *file) (bool, error) {
	same, err := w.has(ctx, name, was.Plain)
	if err != nil || !same || was.Gzip == nil {
		return same, err
	}
	return w.has(ctx, name+gz, *was.Gzip)
}

// has reports whether a file has a stamp.
func (w *writer) has(ctx context.Context, name string, was Stamp) (bool, error) {
	now, err := w.files.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return now == was, err
}

// copies reports whether documents have compressed copies beside them.
func (w *writer) copies() bool { return w.options.Gzip && !w.files.HasHeaders() }

// contents returns what is stored for d: the content, and the content of the compressed copy or
// nil. A Store that sends headers has only the compressed document.
func (w *writer) contents(d *doc, c content) (plain Content, copied *Content) {
	plain = Content{WriterTo: c, Type: "application/xml", CacheControl: cacheAsk}
	zipped := c.zipped()
	switch {
	case isPackage(d.name):
		plain.Type, plain.CacheControl = "application/zip", cacheForever
	case d.state.Immutable():
		plain.CacheControl = cacheForever
	}
	switch {
	case zipped == nil || !w.options.Gzip:
	case w.files.HasHeaders():
		plain.WriterTo, plain.Encoding = text(zipped), "gzip"
	default:
		copied = &Content{WriterTo: text(zipped)}
	}
	return plain, copied
}

// Caches ask whether a document has changed. Those that never change are fresh for a day only,
// because other options change how lists are divided.
const (
	cacheAsk     = "public, no-cache"
	cacheForever = "public, max-age=86400, immutable"
)

// storeFile writes content into the file name unless it has that content already. ours says that
// an earlier Write has written the file.
func (w *writer) storeFile(ctx context.Context, name string, ours bool, content Content) (Stamp, error) {
	ours = ours || partName.MatchString(name)
	same := false
	now, err := during(ctx, w, func() (now Stamp, err error) {
		now, same, err = w.files.Compare(ctx, name, content)
		return now, err
	})
	found := !errors.Is(err, fs.ErrNotExist)
	switch {
	case found && (err != nil || same):
		return now, err
	case found && !ours:
		return now, fmt.Errorf("%s exists, and has not been written by this program; move it away, or give another folder or prefix", name)
	}
	if !ours {
		// If Write is killed here, the next one must not mistake the file for a foreign one.
		w.known.Files[strings.TrimSuffix(name, gz)] = &file{Gzip: zeroIf(strings.HasSuffix(name, gz))}
		w.known.Unfinished = true
		if err := w.known.write(ctx, w.files); err != nil {
			return now, err
		}
	}
	if err := w.begin(ctx); err != nil {
		return now, err
	}
	was := now
	if now, err = during(ctx, w, func() (Stamp, error) { return w.files.Write(ctx, name, content, was) }); err != nil {
		return now, err
	}
	w.report.Written = append(w.report.Written, name)
	w.report.Bytes += now.Size
	return now, nil
}

// zeroIf returns the stamp of a file that is about to be written, or nil.
func zeroIf(written bool) *Stamp {
	if !written {
		return nil
	}
	return new(Stamp)
}

// begin records that files change from now on.
func (w *writer) begin(ctx context.Context) error {
	if w.known.Unfinished {
		return nil
	}
	w.known.Unfinished = true
	return w.known.write(ctx, w.files)
}

// remove removes a file.
func (w *writer) remove(ctx context.Context, name string) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	removed, err := w.files.Remove(ctx, name)
	if removed {
		w.report.Removed = append(w.report.Removed, name)
	}
	return err
}
