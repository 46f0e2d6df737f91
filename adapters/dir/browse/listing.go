package browse

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

const (
	// pageSize is the maximum number of entries of a page.
	pageSize = 200

	// searched is the maximum number of files whose names a page of a search compares.
	searched = 10_000

	// maxBegin is the maximum number of names that begin with the text in a search.
	maxBegin = 50

	// maxQuery is the maximum length of that text in bytes.
	maxQuery = 200
)

// A listing is the content of a page.
type listing struct {
	folder string // its key

	URL     string // of the folder, without scheme and host
	Source  string // URL of a page about the Source, on the page of the topmost folder
	Query   string // the text to search for; empty for a list of the folder
	Note    string
	Entries []entry
	Empty   string // stands for the entries if there are none
	Pager   webpage.Pager

	files *int64 // in the whole set; nil if unknown
}

// An entry is a file or a folder.
type entry struct {
	Name     string // for people
	URL      string
	Folder   bool
	Size     string // empty if unknown
	Modified time.Time
}

var columns = []webpage.Column{{Name: "Name"}, {Name: "Size", Class: "number"}, {Name: "Last modified", Class: "number wide"}}

func (b *browser) newListing(folder, query, after string) *listing {
	l := &listing{folder: folder, URL: b.path(folder), Query: query}
	if after != "" {
		l.Pager.First = l.page("")
	}
	return l
}

// page returns the URL of the page that begins after the entry with this name; the first
// page if it is empty.
func (l *listing) page(after string) string {
	v := url.Values{}
	if l.Query != "" {
		v.Set("q", l.Query)
	}
	if after != "" {
		v.Set("after", after)
	}
	if len(v) == 0 {
		return l.URL
	}
	return l.URL + "?" + v.Encode()
}

// list reads a page of a folder.
func (b *browser) list(ctx context.Context, folder, after string) (*listing, error) {
	found, err := b.set.Folder(ctx, folder, resourcesync.Range{From: past(folder, after)}, pageSize+1)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		if err := b.check(ctx, folder); err != nil {
			return nil, err
		}
	}
	l := b.newListing(folder, "", after)
	l.Empty = "There are no files here."
	if len(found) > pageSize {
		found = found[:pageSize]
		l.Pager.Next = l.page(found[pageSize-1].Key[len(folder):])
	}
	if folder == "" && after == "" {
		stat, err := b.set.Stat(ctx, resourcesync.Range{})
		if err != nil {
			return nil, err
		}
		if stat.Count >= 0 {
			l.files = &stat.Count
		}
		l.Source = b.source
	}
	b.add(l, found...)
	return l, nil
}

// check returns an error unless a folder has published files. The topmost folder is
// published without files, too.
func (b *browser) check(ctx context.Context, folder string) error {
	found, err := b.set.Folder(ctx, folder, resourcesync.Range{}, 1)
	if err == nil && len(found) == 0 && folder != "" {
		err = &fs.PathError{Op: "list", Path: folder, Err: fs.ErrNotExist}
	}
	return err
}

// add adds those entries that exist at the moment: a file that has disappeared stays listed
// until a scan publishes its deletion.
func (b *browser) add(l *listing, found ...resourcesync.Resource) {
	keys := make([]string, len(found))
	for i, r := range found {
		keys[i] = r.Key
	}
	for i, listed := range b.dir.ListsEach(keys) {
		if !listed {
			continue
		}
		r := found[i]
		e := entry{Name: visible(r.Key[len(l.folder):]), URL: b.path(r.Key), Folder: strings.HasSuffix(r.Key, "/"), Modified: r.LastModified}
		if n, ok := r.Length.Bytes(); ok && !e.Folder {
			e.Size = humanize.Bytes(uint64(n))
		}
		l.Entries = append(l.Entries, e)
	}
}

func (b *browser) render(l *listing) ([]byte, error) {
	p := &webpage.Page{Title: "Files", Site: b.base.Host, Home: b.base.Path, Footer: footer()}
	if b.source != "" {
		p.Nav = []webpage.Link{{Text: "Source", URL: b.source}}
	}
	if l.files != nil {
		p.Intro = humanize.Comma(*l.files) + " files"
		if *l.files == 1 {
			p.Intro = "1 file"
		}
	}
	trail := l.folder
	for at := 0; trail != ""; {
		name, rest, _ := strings.Cut(trail, "/")
		p.Trail = append(p.Trail, webpage.Link{Text: p.Title, URL: b.path(l.folder[:at])})
		p.Title = visible(name)
		at += len(name) + 1
		trail = rest
	}
	if l.Query != "" {
		p.Trail = append(p.Trail, webpage.Link{Text: p.Title, URL: l.URL})
		p.Title = "Names with “" + visible(l.Query) + "”"
	}
	return look().Render(p, l.content())
}

// past returns the first key after an entry of a folder and all that it contains; the first
// key of the folder if the name is empty.
func past(folder, name string) string {
	if name == "" {
		return folder
	}
	if before, isFolder := strings.CutSuffix(name, "/"); isFolder {
		return folder + before + "0" // the next byte after a slash
	}
	return folder + name + "\x00"
}

// end returns the end of the range of the keys in a folder.
func end(folder string) string {
	return partition.Beginning(folder).To
}

// cleanQuery returns the text to search for.
func cleanQuery(q string) string {
	q = strings.TrimSpace(q)
	q = strings.ToValidUTF8(q[:min(len(q), maxQuery)], "") // the page shows it
	return strings.TrimPrefix(q, "/")
}

// visible returns a name with escapes for bytes that are not UTF-8 and for characters that
// are invisible or change the order of others: controls and directional marks.
func visible(name string) string {
	printable := func(r rune) bool { return r == ' ' || unicode.IsPrint(r) }
	if utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return !printable(r) }) < 0 {
		return name
	}
	var s strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&s, `\x%02x`, name[0])
		case printable(r):
			s.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			s.WriteString(q[1 : len(q)-1])
		}
		name = name[n:]
	}
	return s.String()
}
