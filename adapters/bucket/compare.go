package bucket

import (
	"context"
	"fmt"

	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync"
)

// compare yields the objects to list. It requests those whose permissions
// are not known.
func (s *pass) compare(ctx context.Context, listed []*blob.ListObject, yield func(resourcesync.Resource, error) bool) error {
	objects, err := s.load(ctx, listed)
	if err != nil {
		return err
	}
	var asked []*object
	asks := make([]bool, len(objects))
	for i := range objects {
		if o := &objects[i]; s.asks(o) {
			asks[i] = true
			asked = append(asked, o)
		}
	}
	s.checked += int64(len(asked))
	verdicts := s.checkAll(ctx, asked)
	if err := ctx.Err(); err != nil {
		return err
	}
	var withdrawn []string
	next := 0
	for i := range objects {
		o := &objects[i]
		v := verdict{}
		if asks[i] {
			v = verdicts[next]
			next++
		}
		unchanged := s.isUnchanged(o)
		switch {
		case v.err != nil:
			if err := s.failed(o, v.err); err != nil {
				return err
			}
			if o.known.Key == "" {
				err := &resourcesync.UnreadableError{Keys: only(o.Key), Err: v.err}
				if !yield(resourcesync.Resource{}, err) {
					return errStopped
				}
				continue
			}
			unchanged = true // as far as is known
		case v.status != "" || !asks[i] && !unchanged && !s.options.Private:
			s.withhold(o, v.status)
			if o.known.Key != "" {
				withdrawn = append(withdrawn, o.Key)
			}
			continue
		}
		s.counts.listed++
		r, err := resourcesync.Resource{Key: o.Key}, resourcesync.ErrUnchanged
		if !unchanged {
			r, err = s.resource(o, v.header), nil
		}
		if !yield(r, err) {
			return errStopped
		}
	}
	s.report()
	if len(withdrawn) == 0 {
		return nil
	}
	return s.set.Withdraw(ctx, withdrawn...)
}

// load returns the objects that can be listed, with the resources that the set has.
func (s *pass) load(ctx context.Context, listed []*blob.ListObject) ([]object, error) {
	objects := make([]object, 0, len(listed))
	keys := make([]string, 0, len(listed))
	for _, o := range listed {
		if isMarker(o) {
			continue
		}
		etag, name := s.options.Service.ETag(o)
		if err := s.checkName(o.Key, name); err != nil {
			s.counts.skipped++
			if s.skips.News(o.Key, err.Error()) {
				s.log.Warn("bucket: object not listed", "key", o.Key, "reason", err)
			}
			continue
		}
		objects = append(objects, object{ListObject: o, etag: etag})
		keys = append(keys, o.Key)
	}
	if s.set == nil {
		return objects, nil
	}
	known, err := s.set.Known(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("bucket: looking up known objects: %w", err)
	}
	for i := range objects {
		objects[i].known = known[i]
		s.anyKnown = s.anyKnown || known[i].Key != ""
	}
	return objects, nil
}

// asks reports whether an object must be requested before it is listed, or again.
func (s *pass) asks(o *object) bool {
	switch {
	case s.options.Private:
		return false
	case s.isDue(o.Key, s.verified, s.began):
		return true
	case s.isUnchanged(o):
		return false
	}
	return s.found == nil || !s.before.has(o.hash())
}

// hash identifies an object and its version.
func (o *object) hash() uint64 { return hash(o.appendVersion(append([]byte(o.Key), 0))) }

// withhold counts an object that cannot be read without credentials.
func (s *pass) withhold(o *object, status string) {
	s.counts.private++
	if s.found != nil {
		s.found.add(o.hash())
	}
	if status == "" {
		return // as before
	}
	if s.example == "" {
		s.example = s.template.uri(o.Key) + " (" + status + ")"
	}
	if s.skips.News(o.Key, status) {
		s.log.Warn("bucket: object not listed, because it cannot be read without credentials", "key", o.Key, "uri", s.template.uri(o.Key), "status", status)
	}
}

// failed counts a failed request. It returns an error if so many have failed that the scan
// is useless.
func (s *pass) failed(o *object, err error) error {
	s.counts.failed++
	if s.example == "" {
		s.example = s.template.uri(o.Key) + " (" + err.Error() + ")"
	}
	if s.counts.failed > mostFailed && 2*s.counts.failed > s.checked {
		return fmt.Errorf("bucket: %d of %d requests for objects at their URIs have failed, for example %s", s.counts.failed, s.checked, s.example)
	}
	if s.skips.News(o.Key, err.Error()) {
		s.log.Warn("bucket: cannot check object; its resource stays unchanged", "key", o.Key, "error", err)
	}
	return nil
}
