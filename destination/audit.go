package destination

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// An AuditReport is the result of [Destination.Audit]. Each resource is counted once, as Damaged
// rather than as anything else. Each count has the URIs of some of the first resources.
type AuditReport struct {
	// Listed is the number of entries of the Resource Lists, and Same that of resources
	// of which the copy shows the listed version.
	Listed int64 `json:"listed"`
	Same   int64 `json:"same"`

	Missing Found `json:"missing"` // the Source lists them, the copy lacks them
	Differs Found `json:"differs"` // the copy shows another version
	Extra   Found `json:"extra"`   // the copy has them, the Source does not list them
	Damaged Found `json:"damaged"` // the Sink has other content than it was given, or none

	Deviations int64       `json:"deviations,omitempty"`
	Deviating  []Deviation `json:"deviating,omitempty"` // see [Report]
}

// Found holds the findings of an audit of one kind.
type Found struct {
	Count int64    `json:"count"`
	URIs  []string `json:"uris,omitempty"`
}

func (f *Found) add(uri string) {
	if f.Count++; len(f.URIs) < samples {
		f.URIs = append(f.URIs, uri)
	}
}

// remove takes back add.
func (f *Found) remove(uri string) {
	f.Count--
	f.URIs = slices.DeleteFunc(f.URIs, func(known string) bool { return known == uri })
}

// InSync reports whether the audit has found no difference.
func (a *AuditReport) InSync() bool {
	return a.Missing.Count+a.Differs.Count+a.Extra.Count+a.Damaged.Count == 0
}

// Audit compares the copy with the Resource Lists of the Source (section 5.2), and, if the
// Sink is a [Verifier], the contents of the Sink with those that it was given. It requests no
// resources and does not change the copy. The next Sync fetches resources that are missing,
// differ or are damaged. It deletes extra ones when the Source does.
//
// A Source that changes during the audit differs from the copy: call Sync before.
func (d *Destination) Audit(ctx context.Context) (*AuditReport, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &audit{run: d.newRun()}
	err := a.audit(ctx)
	a.found.Deviations, a.found.Deviating = a.report.Deviations, a.report.Deviating
	if err != nil {
		err = fmt.Errorf("destination: %w", err)
	}
	return &a.found, err
}

// verifies is the number of contents of the Sink that are read at a time.
const verifies = 8

// An audit is a running Audit.
type audit struct {
	*run
	found AuditReport
	seen  map[string]bool // lists
}

func (a *audit) audit(ctx context.Context) error {
	sets, err := a.reader.Discover(ctx, a.source)
	if err != nil {
		return err
	}
	if err := a.setsAre(sets); err != nil {
		return err
	}
	if err := a.state.BeginAudit(); err != nil {
		return err
	}
	a.seen = make(map[string]bool)
	for _, set := range sets {
		lists := set.Lists[resourcesync.ResourceList]
		if len(lists) == 0 {
			return fmt.Errorf("%s has no Resource List to compare the copy with", set.URI)
		}
		for _, uri := range lists {
			if err := a.list(ctx, set.URI, uri, 0); err != nil {
				return err
			}
		}
	}
	if a.found.Extra.Count, a.found.Extra.URIs, err = a.state.Unlisted(samples); err != nil {
		return err
	}
	return a.verify(ctx)
}

// list compares a Resource List or an index of them.
func (a *audit) list(ctx context.Context, set, uri string, depth int) error {
	if a.seen[uri] {
		return nil
	}
	a.seen[uri] = true
	d, err := a.reader.Open(ctx, uri, fetch.Validators{})
	if err != nil {
		return err
	}
	defer d.Close()
	if !d.Head.Index {
		return a.compare(ctx, set, uri, d)
	}
	parts, err := readParts(uri, d)
	if err != nil {
		return err
	}
	d.Close()
	if depth == maxIndexes {
		return fmt.Errorf("%s: there are more than %d levels of indexes", uri, maxIndexes)
	}
	for _, part := range parts {
		if err := a.list(ctx, set, part.Loc, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// compare compares the entries of a list with the copy.
func (a *audit) compare(ctx context.Context, set, uri string, d *tree.Document) error {
	at := notAfter(d.Head.Metadata.At, d.Header)
	return a.noteAll(ctx, d, func(e *rsxml.Entry) error {
		a.found.Listed++
		p := &state.Pending{Set: set, List: uri, At: at, Change: resourcesync.Change{Resource: resource(e)}}
		result, err := a.state.Compare(p)
		switch result {
		case state.Same:
			a.found.Same++
		case state.Missing:
			a.found.Missing.add(e.Loc)
		case state.Differs:
			a.found.Differs.add(e.Loc)
		}
		return err
	}, func() error { return nil })
}

// verify compares the contents of the Sink with their hashes.
func (a *audit) verify(ctx context.Context) error {
	sink, ok := a.sink.(Verifier)
	if !ok {
		return nil
	}
	return a.state.Members(ctx, func(members []state.Member) error {
		whole, err := a.verifyAll(ctx, sink, members)
		if err != nil {
			return err
		}
		for i := range members {
			if whole[i] {
				continue
			}
			if err := a.damaged(ctx, &members[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// damaged counts a damaged member of the copy, which has been counted as something else, and
// notes that its content is to be fetched.
func (a *audit) damaged(ctx context.Context, m *state.Member) error {
	counted, err := a.state.Compared(m.URI)
	if err != nil {
		return err
	}
	switch counted {
	case 0:
		a.found.Extra.remove(m.URI)
	case state.Same:
		a.found.Same--
	case state.Differs:
		a.found.Differs.remove(m.URI)
	}
	a.found.Damaged.add(m.URI)
	return a.state.Write(ctx, func() error { return a.state.Damaged(m) })
}

// verifyAll reports of each member whether the Sink has its content.
func (a *audit) verifyAll(ctx context.Context, sink Verifier, members []state.Member) ([]bool, error) {
	whole := make([]bool, len(members))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(verifies)
	var metering sync.Mutex
	for i := range members {
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			whole[i], err = verify(ctx, sink, &members[i])
			metering.Lock()
			defer metering.Unlock()
			a.meter.Done++
			a.meter.update()
			return err
		})
	}
	return whole, group.Wait()
}

// verify reports whether the Sink has the content of m.
func verify(ctx context.Context, sink Verifier, m *state.Member) (bool, error) {
	content, err := sink.Open(ctx, resourcesync.Resource{Key: m.Path, URI: m.URI, Length: resourcesync.Bytes(m.Size), Hashes: m.Hashes})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the copy of %s: %w", m.URI, err)
	}
	defer content.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, content)
	if err != nil {
		return false, fmt.Errorf("reading the copy of %s: %w", m.URI, err)
	}
	return n == m.Size && fetch.Agree([]resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum.Sum(nil))}}, m.Hashes), nil
}
