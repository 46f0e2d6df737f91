package document

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// A Target is the document that a path names.
type Target struct {
	Kind *Kind
	Path string
	Set  *Set   // nil for the Source Description
	Part string // which page, window or part
}

// Unlisted reports whether t is not known to be listed.
func (t Target) Unlisted() bool { return t.Kind.listed != nil && !t.Kind.listed(t) }

// IsSocket reports whether t is served by WebSocket.
func (t Target) IsSocket() bool { return strings.HasSuffix(t.Kind.Name, Socket) }

// URL returns the public URL of a document of the same set.
func (t Target) URL(kind, part string) string { return t.Set.URL(kind, part) }

// Fresh reports whether was, which may be nil, is still the state of t.
func (t Target) Fresh(ctx context.Context, was *State) (bool, error) {
	if was == nil && t.Kind.State != nil {
		return false, t.Set.Ready(ctx)
	}
	now, err := t.Now(ctx, was)
	return err == nil && was != nil && now == was, err
}

// Now returns the current state of t: was itself if it is still current. was may be nil.
func (t Target) Now(ctx context.Context, was *State) (*State, error) {
	if t.Kind.State == nil { // whether or not the sets have content
		if was == nil {
			was = &State{Version: "configuration"}
		}
		return was, nil
	}
	if err := t.Set.Ready(ctx); err != nil {
		return nil, err
	}
	return t.Kind.State(ctx, t, was)
}

// Span begins a span of work on t.
func (t Target) Span(ctx context.Context, tracer resourcesync.Tracer, name string) (context.Context, func(error)) {
	attrs := []slog.Attr{slog.String("document", t.Kind.Name), slog.String("path", t.Path)}
	if t.Set != nil {
		attrs = append(attrs, slog.String("set", t.Set.Name))
	}
	return tracer.Start(ctx, name, attrs...)
}

// Render renders t in the state st. If the state changes meanwhile, Render reads it and renders
// once more. earlier is the document in an earlier state, or nil.
func (t Target) Render(ctx context.Context, st *State, earlier *Document) (*Document, error) {
	doc, err := t.renderOnce(ctx, st, earlier)
	if errors.Is(err, ErrMoved) {
		if st, err = t.Now(ctx, nil); err == nil {
			doc, err = t.renderOnce(ctx, st, earlier)
		}
	}
	return doc, err
}

func (t Target) renderOnce(ctx context.Context, st *State, earlier *Document) (*Document, error) {
	st.earlier = earlier
	text, index, err := t.RenderIn(ctx, st)
	if err != nil {
		return nil, err
	}
	st.earlier = nil
	return &Document{text, st, index}, nil
}

// RenderIn renders t in the state st, and reports whether it lists documents.
func (t Target) RenderIn(ctx context.Context, st *State) (text render.Text, index bool, err error) {
	var b render.Body
	defer b.Free()
	if err := t.Kind.Render(ctx, t, st, &b); err != nil {
		return text, false, err
	}
	if text, err = b.Text(); err != nil {
		return text, false, fmt.Errorf("%s: %w", t.Path, err)
	}
	return text, b.Head != nil && b.Head.Index, nil
}

// Interval returns the interval in the name of a package of a Change Dump or of its manifest, and
// the zero value for other targets.
func (t Target) Interval() (iv resourcesync.Interval) {
	if t.Kind.Name != KindChangePackage && t.Kind.Name != KindChangeManifest {
		return iv
	}
	begin, end, _ := strings.Cut(t.Part, "-")
	iv.From, _ = partition.ParseTime(begin) // an answer that succeeds has a valid name
	iv.Until, _ = partition.ParseTime(end)
	return iv
}

// Keys returns the range in the name of a page of a Resource List or of a package of a Resource
// Dump, and the zero value for other targets.
func (t Target) Keys() resourcesync.Range {
	if t.Kind.Name != KindResourcePage && t.Kind.Name != KindDumpPackage {
		return resourcesync.Range{}
	}
	r, _ := partition.ParseRange(t.Part)
	return r
}
