package view

import (
	"context"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
	"github.com/resourcesync-go/resourcesync/topic"
)

// New returns the pages of the documents of a site with a hub of its own, unless hub is
// empty. status returns the progress of its channels. own is what the host adds to the pages.
func New(site *document.Site, own webpage.Own, hub string, status func(context.Context) (topic.Status, error)) (*Views, error) {
	look, err := pages.New(own)
	if err != nil {
		return nil, err
	}
	s := &Views{Look: look, site: site, hub: hub, status: status, recents: make(map[*document.Set]*atomic.Pointer[recent]), fields: make(map[*document.Set]*atomic.Pointer[field])}
	for _, st := range site.Order {
		s.recents[st] = new(atomic.Pointer[recent])
		s.fields[st] = new(atomic.Pointer[field])
	}
	return s, nil
}

// Render renders the page of v.
func (v *View) Render(ctx context.Context) (*Page, error) {
	if v.t.Set != nil && v.t.Kind.State != nil {
		if err := v.t.Set.Ready(ctx); err != nil {
			return nil, err
		}
	}
	p, err := v.gather(ctx)
	if err != nil {
		return nil, err
	}
	layout := v.layout(p.title, v.now)
	layout.Intro = p.intro
	layout.Trail = v.trail()
	layout.Raw, layout.RawType = v.DocumentURL()+"?xml", "application/xml"
	html, err := v.Look.Render(layout, p.Content())
	if err != nil {
		return nil, err
	}
	text, err := render.Compress(html)
	if err != nil {
		return nil, err
	}
	return &Page{text, p.Live}, nil
}

// gather gathers the content of the page of v.
func (v *View) gather(ctx context.Context) (content, error) {
	switch {
	case v.t.Kind.Name == document.KindDescription:
		return pageSource(ctx, v)
	case v.t.Kind.Name == document.KindCapabilityList:
		return pageSet(ctx, v)
	case v.t.Kind.Form == document.FormTopic:
		return pageChannel(ctx, v)
	}
	return v.list(ctx)
}
