package providertest

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// fieldRules check that a document can express each field of a resource. Documents omit
// other values.
var fieldRules = []rule{
	field("changefreq", func(e, r *resourcesync.Resource) { e.ChangeFreq = r.ChangeFreq }),
	field("type", func(e, r *resourcesync.Resource) { e.Type = r.Type }),
	field("encoding", func(e, r *resourcesync.Resource) { e.Encoding = r.Encoding }),
	field("hashes", func(e, r *resourcesync.Resource) { e.Hashes = r.Hashes }),
	field("links", func(e, r *resourcesync.Resource) { e.Links = r.Links }),
	field("attrs", func(e, r *resourcesync.Resource) { e.Attrs = r.Attrs }),
	{"Changes/fields", changer, changesFields},
}

// field returns the rule for the field that the function take copies.
func field(word string, take func(e, r *resourcesync.Resource)) rule {
	return rule{"Resources/" + word, 0, func(ctx context.Context, s *subject) error {
		all, err := s.list(ctx)
		if err != nil {
			return err
		}
		for i := range all {
			alone := resourcesync.Resource{URI: "https://example.org/"}
			take(&alone, &all[i])
			if err := rsxml.CheckResource(&alone); err != nil {
				return fmt.Errorf("%s: %w", quote(all[i].Key), err)
			}
		}
		return nil
	}}
}

// fields: a document can express all fields of changed resources.
func changesFields(ctx context.Context, s *subject) error {
	changes, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ChangeList}}
	var e rsxml.Entry
	for i := range changes {
		e.SetChange(&changes[i])
		if err := rsxml.CheckEntry(&head, &e); err != nil {
			return fmt.Errorf("%s: %w", changeTitle(changes[i]), err)
		}
	}
	return nil
}
