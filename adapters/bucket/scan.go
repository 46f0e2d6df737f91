package bucket

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

const (
	// pageSize is the number of objects of a listing that are read and compared at once:
	// the most that S3 and Google Cloud Storage return.
	pageSize = 1000
)

// Resources implements [scan.Origin]: it lists the objects in the order of the store. Its
// memory does not depend on their number.
//
// An unchanged object is yielded as its Key alone, with [resourcesync.ErrUnchanged]. If the
// anonymous request for an object fails, its resource stays unchanged. An object that can no
// longer be read without credentials is withdrawn from the set at once, and not yielded.
//
// Key is the name of the object, without Options.Prefix. LastModified is its time in whole
// seconds. If only its entity tag has changed, which means that it was replaced twice
// within a second, LastModified is unknown. Type is the media type in the response at its
// URI. Stamp is its version.
func (b *Bucket) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		skips := b.skips.Begin()
		s := b.newPass(skips)
		s.found = withheld{}
		s.report()
		err := s.run(ctx, "", yield)
		if err == errStopped {
			return
		}
		if err == nil {
			err = s.complete()
		}
		if err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		b.mu.Lock()
		b.withheld, b.verified = s.found, s.began
		b.mu.Unlock()
		if n, news := skips.End(); news {
			b.log.Warn("bucket: total of objects not listed", "objects", n)
		}
	}
}

// Part implements [scan.Parter]: it lists the objects with these keys and, for a key that ends
// in a slash, all whose keys begin with it.
func (b *Bucket) Part(ctx context.Context, keys []string) ([]resourcesync.Range, iter.Seq2[resourcesync.Resource, error]) {
	ranges := make([]resourcesync.Range, len(keys))
	for i, key := range keys {
		ranges[i] = only(key)
		if folder, ok := strings.CutSuffix(key, "/"); ok {
			ranges[i] = resourcesync.Range{From: key, To: folder + "0"}
		}
	}
	return ranges, func(yield func(resourcesync.Resource, error) bool) {
		s := b.newPass(&b.skips)
		var single []string
		var err error
		for _, key := range keys {
			if !strings.HasSuffix(key, "/") {
				single = append(single, key)
			} else if err == nil {
				err = s.run(ctx, key, yield)
			}
		}
		if err == nil {
			err = s.runSingle(ctx, single, yield)
		}
		if err != nil && err != errStopped {
			yield(resourcesync.Resource{}, err)
		}
	}
}

// only returns the range of a single key.
func only(key string) resourcesync.Range { return resourcesync.Range{From: key, To: key + "\x00"} }

// errStopped means that yield has returned false.
var errStopped = errors.New("stopped")

// problems tells new problems from known ones: a [health.Round] of a complete scan, or the
// [health.Rounds] of all.
type problems interface {
	News(name, text string) bool
}

// A pass is a listing of the bucket, or of a part.
type pass struct {
	*Bucket
	began    time.Time
	skips    problems
	before   withheld  // by the last complete scan
	verified time.Time // up to when objects have been requested again
	found    withheld  // by this scan; nil for a part
	counts   counts

	anyKnown bool // the set has an object of the listing
	checked  int64
	example  string // an object that is withheld or could not be requested, and why
}

func (b *Bucket) newPass(skips problems) *pass {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.verified.IsZero() {
		b.verified = now
	}
	return &pass{Bucket: b, began: now, skips: skips, before: b.withheld, verified: b.verified}
}

// run yields the objects whose keys begin with prefix.
func (s *pass) run(ctx context.Context, prefix string, yield func(resourcesync.Resource, error) bool) error {
	for objects, err := range s.list(ctx, prefix) {
		if err == nil {
			err = s.compare(ctx, objects, yield)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// list yields the listing of the store, and prefetches the next page.
func (b *Bucket) list(ctx context.Context, prefix string) iter.Seq2[[]*blob.ListObject, error] {
	type page struct {
		objects []*blob.ListObject
		err     error
	}
	return func(yield func([]*blob.ListObject, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		pages := make(chan page)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		wg.Go(func() {
			defer close(pages)
			var seen repetition
			for token := blob.FirstPageToken; len(token) > 0; {
				var p page
				p.objects, token, p.err = b.bucket.ListPage(ctx, token, pageSize, b.listOptions(prefix, &seen))
				if p.err == nil {
					p.err = seen.received(p.objects)
				}
				select {
				case pages <- p:
				case <-ctx.Done():
					return
				}
				if p.err != nil {
					return
				}
			}
		})
		for p := range pages {
			if p.err != nil {
				p.err = fmt.Errorf("bucket: listing: %w", p.err)
			}
			if !yield(p.objects, p.err) {
				return
			}
		}
	}
}

// listOptions returns the options of a listing that notices repetitions.
func (b *Bucket) listOptions(prefix string, seen *repetition) *blob.ListOptions {
	return &blob.ListOptions{Prefix: prefix, BeforeList: func(as func(any) bool) error {
		return seen.request(b.options.Service.BeforeList(as))
	}}
}

// errEndless means that a store repeats a part of its listing.
var errEndless = errors.New("the store repeats a part of its listing without end: its continuation tokens lead back to an earlier one")

// maxRequests is the maximum number of requests for pageSize objects. A store may skip deleted
// objects in many responses.
const maxRequests = 10_000

// A repetition notices that a listing has no end: it comes back to a mark, which is moved on after
// twice as many requests or objects each time (Brent's algorithm). An object is listed once.
type repetition struct {
	token          string // of the mark
	requests, next int64
	page           int64 // requests for this page

	key            string // of the mark
	objects, after int64
}

// request notices a request with a token.
func (r *repetition) request(token string) error {
	if r.page++; r.page > maxRequests || token != "" && token == r.token {
		return errEndless
	}
	if r.requests++; r.requests >= r.next {
		r.token, r.next = token, 2*r.requests
	}
	return nil
}

// received notices a page of objects.
func (r *repetition) received(objects []*blob.ListObject) error {
	r.page = 0
	for _, o := range objects {
		if r.objects++; r.objects > 1 && o.Key == r.key {
			return errEndless
		}
		if r.objects >= r.after {
			r.key, r.after = o.Key, 2*r.objects
		}
	}
	return nil
}

// runSingle yields the objects with these keys, without the others around them.
func (s *pass) runSingle(ctx context.Context, keys []string, yield func(resourcesync.Resource, error) bool) error {
	found := make([]*blob.ListObject, len(keys))
	g, running := errgroup.WithContext(ctx)
	g.SetLimit(checkers)
	for i, key := range keys {
		g.Go(func() error {
			// An object sorts before all others whose names begin with its name.
			var seen repetition
			first, _, err := s.bucket.ListPage(running, blob.FirstPageToken, 1, s.listOptions(key, &seen))
			if err != nil {
				return fmt.Errorf("bucket: listing %q: %w", key, err)
			}
			if len(first) > 0 && first[0].Key == key {
				found[i] = first[0]
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return s.compare(ctx, slices.DeleteFunc(found, func(o *blob.ListObject) bool { return o == nil }), yield)
}

// complete returns the error of a scan that has reached the end of the listing but shows
// that the URIs of the objects are wrong.
func (s *pass) complete() error {
	c := &s.counts
	switch {
	case c.listed > 0 || s.anyKnown:
	case c.failed > 0:
		return fmt.Errorf("bucket: no object can be requested at its URI, for example %s: check the template of the URIs", s.example)
	case c.private > 0:
		return fmt.Errorf("bucket: no object can be read without credentials, for example %s: let everybody read them, check the template of the URIs, or publish private objects on purpose", s.example)
	}
	return nil
}

// counts are the numbers of objects of a pass.
type counts struct {
	listed  int64
	private int64 // not listed, because they cannot be read without credentials
	skipped int64 // not listed, because of their names
	failed  int64 // whose anonymous requests failed; their resources stay unchanged
}

// report copies the counts of a pass over all objects to Progress.
func (s *pass) report() {
	if s.found != nil {
		c := s.counts
		s.progress.Store(&scan.Progress{Resources: c.listed, Skipped: c.private + c.skipped + c.failed})
	}
}

// Progress implements [scan.Progresser]. It counts pages of a thousand objects.
func (b *Bucket) Progress() scan.Progress { return *b.progress.Load() }
