package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

//docs:begin versions

// OpenChange implements [resourcesync.ChangeOpener]: the log has the text of each version.
func (p Papers) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	e, found := p.event(c)
	if !found {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(e.paper.Text)), nil
}

// OpenPatch implements [resourcesync.PatchOpener].
func (p Papers) OpenPatch(ctx context.Context, c resourcesync.Change, link resourcesync.Link) (io.ReadCloser, error) {
	e, found := p.event(c)
	if !found || c.Type != resourcesync.Updated || link.Href != p.patch(e).Href {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(diff(e.before, e.paper.Text))), nil
}

// event returns the event that c is the entry of, unless it is a deletion.
func (p Papers) event(c resourcesync.Change) (event, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	i, found := slices.BinarySearchFunc(p.log, c.Datetime, func(e event, t time.Time) int { return e.at.Compare(t) })
	if !found || p.log[i].paper.ID != c.Resource.Key || p.log[i].kind == resourcesync.Deleted {
		return event{}, false
	}
	return p.log[i], true
}

// patch returns the link from the entry of an update to the patch that makes the new text of
// the former one.
func (p Papers) patch(e event) resourcesync.Link {
	patch := diff(e.before, e.paper.Text)
	return resourcesync.Link{
		Rel:    resourcesync.RelPatch,
		Href:   fmt.Sprintf("%s/patches/%d", p.site, e.at.UnixMicro()),
		Type:   "text/x-diff",
		Length: resourcesync.Bytes(int64(len(patch))),
		Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: digest(patch)}},
	}
}

//docs:end

// patchAt returns the patch at a URL.
func (p Papers) patchAt(micros string) (string, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, e := range p.log {
		if strconv.FormatInt(e.at.UnixMicro(), 10) == micros && e.kind == resourcesync.Updated {
			return diff(e.before, e.paper.Text), true
		}
	}
	return "", false
}

// diff returns a unified diff that replaces all lines.
func diff(before, after string) string {
	old, all := strings.Split(before, "\n"), strings.Split(after, "\n")
	const end = "\n\\ No newline at end of file\n"
	return fmt.Sprintf("--- before\n+++ after\n@@ -1,%d +1,%d @@\n-", len(old), len(all)) +
		strings.Join(old, "\n-") + end + "+" + strings.Join(all, "\n+") + end
}

//docs:begin archiver

// A snapshot is an earlier Resource List.
type snapshot struct {
	at       time.Time
	document []byte
}

// Keep keeps the current Resource List, for Destinations that want the papers of a past day.
func (p Papers) Keep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := snapshot{at: p.next()}
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList, At: s.at},
		Links: []resourcesync.Link{{Rel: resourcesync.RelUp, Href: p.site + "/resourcesync/capabilitylist.xml"}}}
	s.document = rsxml.AppendHead(nil, &head)
	for _, paper := range p.papers {
		var entry rsxml.Entry
		r := p.resource(paper)
		entry.SetResource(&r)
		s.document, _ = rsxml.AppendEntry(s.document, &head, &entry)
	}
	s.document = rsxml.AppendTail(s.document, &head)
	p.snapshots = append(p.snapshots, s)
}

// Archives implements [resourcesync.Archiver].
func (p Papers) Archives() []resourcesync.Capability {
	return []resourcesync.Capability{resourcesync.ResourceListArchive}
}

// Snapshots implements [resourcesync.Archiver]. The application serves the documents.
func (p Papers) Snapshots(ctx context.Context, archive resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
	return func(yield func(resourcesync.Snapshot, error) bool) {
		p.mu.RLock()
		kept := p.snapshots // only appended
		p.mu.RUnlock()
		for i, s := range kept {
			if ctx.Err() != nil {
				break
			}
			if !yield(resourcesync.Snapshot{URI: fmt.Sprintf("%s/archive/%d", p.site, i), At: s.at}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(resourcesync.Snapshot{}, err)
		}
	}
}

//docs:end
