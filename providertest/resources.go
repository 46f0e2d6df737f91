package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

var resourceRules = []rule{
	{"Resources/order", 0, resourcesOrder},
	{"Resources/unique", 0, resourcesUnique},
	{"Resources/valid", 0, resourcesValid},
	{"Resources/complete", wanted, resourcesComplete},
	{"Resources/range", 0, resourcesRange},
	{"Resources/writers", editing, resourcesWriters},
}

// order: resources are in ascending byte order of their keys.
func resourcesOrder(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for i := range all[:max(len(all)-1, 0)] {
		if a, b := all[i].Key, all[i+1].Key; b < a {
			return fmt.Errorf("%s precedes %s: keys must be in byte order (in PostgreSQL, COLLATE \"C\")", quote(a), quote(b))
		}
	}
	return nil
}

// unique: no two resources have the same key.
func resourcesUnique(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, r := range all {
		if seen[r.Key] {
			return fmt.Errorf("%s is yielded twice", quote(r.Key))
		}
		seen[r.Key] = true
	}
	return nil
}

// valid: every resource has a key of 1 to MaxKeyLength bytes and a URI that can
// be published.
func resourcesValid(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := checkResource(r); err != nil {
			return err
		}
	}
	return nil
}

func checkResource(r resourcesync.Resource) error {
	if n := len(r.Key); n < 1 || n > resourcesync.MaxKeyLength {
		return fmt.Errorf("key %s has %d bytes, expected 1 to %d", quote(r.Key), n, resourcesync.MaxKeyLength)
	}
	if err := rsxml.CheckURI(r.URI); err != nil {
		return fmt.Errorf("%s: %w", quote(r.Key), err)
	}
	return nil
}

// complete: exactly the expected resources are yielded, with all their fields.
func resourcesComplete(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	got := map[string]resourcesync.Resource{}
	for _, r := range all {
		got[r.Key] = r
	}
	for _, want := range s.want {
		r, found := got[want.Key]
		switch {
		case !found:
			return fmt.Errorf("%s is missing", quote(want.Key))
		case !s.opts.Equal(r, want):
			return fmt.Errorf("%s: %s", quote(want.Key), unlike(r, want))
		}
		delete(got, want.Key)
	}
	for key := range got {
		return fmt.Errorf("%s is yielded but not expected", quote(key))
	}
	return nil
}

// range: a range contains the keys from From, inclusive, to To, exclusive.
func resourcesRange(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, r := range ranges(all) {
		got, err := s.listRange(ctx, r)
		if err != nil {
			return err
		}
		if err := sameResources(got, within(all, r)); err != nil {
			return fmt.Errorf("range %s: %w", rangeText(r), err)
		}
	}
	return nil
}

// within returns the resources in r.
func within(all []resourcesync.Resource, r resourcesync.Range) []resourcesync.Resource {
	var in []resourcesync.Resource
	for _, x := range all {
		if r.Contains(x.Key) {
			in = append(in, x)
		}
	}
	return in
}

// ranges returns ranges that begin and end at keys, just after them, and between them, and
// the range of all keys.
func ranges(all []resourcesync.Resource) []resourcesync.Range {
	const most = 100 // keys
	points := []string{"", "\x01", "\U0010FFFF"}
	for i := 0; i < len(all); i += 1 + len(all)/most {
		key := all[i].Key
		points = append(points, key)
		if len(key) < resourcesync.MaxKeyLength {
			points = append(points, key+"\x01")
		}
		if _, n := utf8.DecodeLastRuneInString(key); n < len(key) {
			points = append(points, key[:len(key)-n])
		}
	}
	slices.Sort(points)
	points = slices.Compact(points)
	var out []resourcesync.Range
	for i, p := range points {
		for _, j := range []int{i + 1, i + 5} {
			if j < len(points) {
				out = append(out, resourcesync.Range{From: p, To: points[j]})
			}
		}
		// Empty ranges at several positions.
		if i%4 == 1 {
			out = append(out, resourcesync.Range{From: p, To: p}, resourcesync.Range{From: p, To: points[1+i/2]})
		}
		// Limit the cost for a large set.
		if len(all) <= most || i%16 == 0 {
			out = append(out, resourcesync.Range{From: p}, resourcesync.Range{To: p})
		}
	}
	return out
}

// writers: a resource that is in the set during a complete iteration is yielded once, in
// order, whatever else is created and deleted meanwhile.
func resourcesWriters(ctx context.Context, s *subject) error {
	stable, err := s.list(ctx)
	if err != nil {
		return err
	}
	keys, err := s.spare(ctx, 2)
	if err != nil {
		return err
	}
	first, second := s.make(keys[0]), s.make(keys[1])
	writes := map[int]func() error{
		1:                   func() error { return s.put(ctx, first, second) },
		len(stable) / 2:     func() error { return s.delete(ctx, first.Key) },
		len(stable)*3/4 + 1: func() error { return s.put(ctx, first) },
	}
	var writer sync.WaitGroup
	queue := make(chan func(), len(writes))
	writer.Go(func() {
		for write := range queue {
			write()
		}
	})
	var failed []error
	n := 0
	all, err := collect(s.provider.Resources(ctx, resourcesync.Range{}), func(r resourcesync.Resource) resourcesync.Resource {
		n++
		if write := writes[n]; write != nil {
			done := make(chan struct{})
			queue <- func() {
				defer close(done)
				failed = append(failed, write())
			}
			// A provider may block writers until the end.
			select {
			case <-done:
			case <-time.After(s.opts.Wait / 100):
			}
		}
		return keep(r)
	})
	close(queue)
	writer.Wait()
	if err := errors.Join(append(failed, err)...); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r resourcesync.Resource) bool { return slices.Contains(keys, r.Key) })
	if err := sameResources(all, stable); err != nil {
		return fmt.Errorf("while others write: %w", err)
	}
	return nil
}
