package browse

import (
	"context"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// search reads a page of the files and folders below a folder whose names contain a text:
// first those in this folder whose names begin with it, however many files there are, then
// the others, in the order of their keys.
func (b *browser) search(ctx context.Context, folder, query, after string) (*listing, error) {
	l := b.newListing(folder, query, after)
	l.Empty = "No names contain this text."
	if after == "" {
		if err := b.begin(ctx, l); err != nil {
			return nil, err
		}
	}
	m := matcher{folder: folder, query: query, needle: strings.ToLower(query), last: folder + after}
	n := 0
	var found []resourcesync.Resource
	for r, err := range b.set.First(ctx, resourcesync.Range{From: past(folder, after), To: end(folder)}, searched) {
		if err != nil {
			return nil, err
		}
		n++
		if found = append(found, m.match(r)...); len(found) >= pageSize {
			break
		}
	}
	b.add(l, found...)
	if n == 0 {
		if err := b.check(ctx, folder); err != nil {
			return nil, err
		}
	}
	if n == searched || len(found) >= pageSize {
		l.Pager.Next = l.page(m.last[len(folder):])
		l.Pager.Note = fmt.Sprintf("%s files searched, up to %s", humanize.Comma(int64(n)), visible(m.last[len(folder):]))
		l.Empty = fmt.Sprintf("None of the %s files that this page searches has this text in its name.", humanize.Comma(int64(n)))
	}
	return l, nil
}

// begin adds the entries whose names begin with the text that is searched for.
func (b *browser) begin(ctx context.Context, l *listing) error {
	prefix := l.folder + l.Query
	found, err := b.set.Folder(ctx, prefix[:strings.LastIndexByte(prefix, '/')+1], partition.Beginning(prefix), maxBegin+1)
	if err != nil {
		return err
	}
	if len(found) > maxBegin {
		found = found[:maxBegin]
		l.Note = fmt.Sprintf("More than %d names begin with this text. Add to it to see the others.", maxBegin)
	}
	b.add(l, found...)
	return nil
}

// A matcher selects what contains a text, from resources in the order of their keys.
type matcher struct {
	folder string
	query  string
	needle string // query in lower case
	last   string // the key before
}

// match returns r, if it matches, after the folders that match and have not been matched
// before. A text with a slash is compared with whole paths.
func (m *matcher) match(r resourcesync.Resource) (found []resourcesync.Resource) {
	for i := len(m.folder); ; {
		slash := strings.IndexByte(r.Key[i:], '/')
		if slash < 0 {
			break
		}
		next := i + slash + 1
		if !strings.HasPrefix(m.last, r.Key[:next]) && m.contains(r.Key[i:next-1], r.Key[:next]) {
			found = append(found, resourcesync.Resource{Key: r.Key[:next]})
		}
		i = next
	}
	if m.contains(r.Key[strings.LastIndexByte(r.Key, '/')+1:], r.Key) {
		found = append(found, r)
	}
	m.last = r.Key
	return found
}

// contains reports whether the entry at key matches and does not begin with the text:
// those are shown by begin.
func (m *matcher) contains(name, key string) bool {
	path := key[len(m.folder):]
	if rest, ok := strings.CutPrefix(path, m.query); ok && !strings.Contains(strings.TrimSuffix(rest, "/"), "/") {
		return false
	}
	if strings.Contains(m.needle, "/") {
		name = path
	}
	return strings.Contains(strings.ToLower(name), m.needle)
}
