package rshttp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// A target is the document that a path names.
type target struct {
	kind *kind
	path string
	set  *set   // nil for the Source Description
	part string // which page, window or part
}

// isUnlisted reports whether t is not known to be listed.
func (t target) isUnlisted() bool { return t.kind.listed != nil && !t.kind.listed(t) }

// isSocket reports whether t is served by WebSocket.
func (t target) isSocket() bool { return strings.HasSuffix(t.kind.name, socket) }

// url returns the public URL of a document of the same set.
func (t target) url(kind, part string) string { return t.set.url(kind, part) }

// fresh reports whether was, which may be nil, is still the state of t.
func (t target) fresh(ctx context.Context, was *state) (bool, error) {
	if t.kind.state == nil {
		return was != nil, nil // whether or not the sets have content
	}
	if err := t.set.ready(ctx); err != nil || was == nil {
		return false, err
	}
	now, err := t.kind.state(ctx, t, was)
	return err == nil && now == was, err
}

// span begins a span of work on t.
func (t target) span(ctx context.Context, tracer resourcesync.Tracer, name string) (context.Context, func(error)) {
	attrs := []slog.Attr{slog.String("document", t.kind.name), slog.String("path", t.path)}
	if t.set != nil {
		attrs = append(attrs, slog.String("set", t.set.Name))
	}
	return tracer.Start(ctx, name, attrs...)
}

// render reads the state of t and renders it. If the state changes meanwhile, it renders
// once more. earlier is the document in an earlier state, or nil.
func (t target) render(ctx context.Context, earlier *document) (*document, error) {
	doc, err := t.renderOnce(ctx, earlier)
	if errors.Is(err, errMoved) {
		doc, err = t.renderOnce(ctx, earlier)
	}
	return doc, err
}

func (t target) renderOnce(ctx context.Context, earlier *document) (*document, error) {
	st := &state{version: "configuration"}
	if t.kind.state != nil {
		var err error
		if st, err = t.kind.state(ctx, t, nil); err != nil {
			return nil, err
		}
	}
	st.earlier = earlier
	text, index, err := t.renderIn(ctx, st)
	if err != nil {
		return nil, err
	}
	st.earlier = nil
	return &document{text, st, index}, nil
}

// renderIn renders t in the state st, and reports whether it lists documents.
func (t target) renderIn(ctx context.Context, st *state) (text render.Text, index bool, err error) {
	var b render.Body
	defer b.Free()
	if err := t.kind.render(ctx, t, st, &b); err != nil {
		return text, false, err
	}
	if text, err = b.Text(); err != nil {
		return text, false, fmt.Errorf("%s: %w", t.path, err)
	}
	return text, b.Head != nil && b.Head.Index, nil
}

// A document is a rendered document, and the state that it shows. It is immutable.
type document struct {
	render.Text
	state *state
	index bool // it lists documents
}

// tag returns a digest of the document for entity tags.
func (d *document) tag() string { return base64.RawURLEncoding.EncodeToString(d.Sum[:16]) }

// memory returns the number of bytes that d takes in memory.
func (d *document) memory() int64 { return d.Memory() + partsMemory(d.state.parts) }

// until returns the end of the interval in the name of a package of a Change Dump or of its
// manifest, and zero for other targets.
func (t target) until() time.Time {
	if t.kind.name != kindChangePackage && t.kind.name != kindChangeManifest {
		return time.Time{}
	}
	_, end, _ := strings.Cut(t.part, "-")
	until, _ := partition.ParseTime(end) // an answer that succeeds has a valid name
	return until
}
