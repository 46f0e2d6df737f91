package check

import "context"

// A page is a document that continues a list. It may be listed by an index, too.
type page struct {
	uri       string
	elsewhere bool // at another host
	expect    expectation
	from      expectation // of the document that links to it
}

// readUnlisted reads the pages that no index lists, which most harvesters never find.
func (w *walker) readUnlisted(ctx context.Context, st *set) error {
	for len(w.pages) > 0 {
		p := w.pages[0]
		w.pages = w.pages[1:]
		if w.isSeen(p.uri) {
			continue
		}
		switch at := p.expect.at; {
		case p.elsewhere:
			w.add("list-paging", at, "", "the list continues at another host, which is not followed: %s", p.uri)
			continue
		case p.from.paged: // the first link of the chain has been reported
		case p.from.at.document == "":
			w.skip("%s continues %s; whether an index lists it is not known", p.uri, at.document)
		default:
			w.add("list-paging", at, "", "the list continues at %s, which no index lists", p.uri)
		}
		if err := w.visit(ctx, p.uri, p.expect, st); err != nil {
			return err
		}
	}
	return nil
}
