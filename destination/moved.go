package destination

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// maxSample is the number of entries of Resource Lists that show whether a Source is the
// same at another URL. maxSampleLists is the number of lists of a set, including indexes,
// that are read.
const (
	maxSample      = 5000
	maxSampleLists = 100
)

// move continues the copy with a Source that has moved. A resource of the copy gets its present URI
// when a document of the Source lists it. Resources that are no longer listed belong to the same
// set as before, if its new URI is known.
func (r *run) move(ctx context.Context) (err error) {
	before := r.state.Before()
	if before == "" {
		return nil
	}
	moves := movesTo(before, r.source)
	have, _, err := r.state.Totals()
	if err != nil {
		return err
	}
	list := r.only
	if r.Destination.only, err = r.movedList(ctx, moves); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.Destination.only = list
		}
	}()
	sets, err := r.discover(ctx)
	if err != nil {
		return err
	}
	listed, known := 0, 0
	if have > 0 {
		if listed, known, err = r.sample(ctx, sets, moves); err != nil {
			return err
		}
		if known == 0 || known < listed/10 && int64(known) < have/10 {
			return fmt.Errorf("%s lists %d of the resources of this copy of %s among its first %d, so it does not seem to be the same Source; use another folder for it", r.source, known, before, listed)
		}
	}
	former, err := r.state.KnownSets()
	if err != nil {
		return err
	}
	if err := r.state.MoveTo(ctx, r.source, r.only, moves, movedSets(former, sets, moves)); err != nil {
		return err
	}
	r.report.Moved = before
	r.log.Info("the Source has moved, and the copy continues; its Resource Lists are compared with the copy", "from", before, "to", r.source, "listed", listed, "known", known)
	return nil
}

// movedList returns the list to which the copy is restricted, or "": the one that Options.Only names, or
// else the one at the URL that the new URL of the Source suggests. If the Source has neither, discover returns
// the error.
func (r *run) movedList(ctx context.Context, moves []state.Move) (string, error) {
	if r.only == "" || r.options.Only != "" && r.options.Only != r.only {
		return r.options.Only, nil
	}
	sets, err := r.reader.Discover(ctx, r.source)
	if err != nil {
		return r.only, err
	}
	for _, m := range append(moves, state.Move{}) {
		rest, under := strings.CutPrefix(r.only, m.Old)
		for _, set := range sets {
			if under && (slices.Contains(set.Lists[resourcesync.ResourceList], m.New+rest) || slices.Contains(set.Lists[resourcesync.ResourceDump], m.New+rest)) {
				return m.New + rest, nil
			}
		}
	}
	return r.only, nil
}

// sample reads the first entries of Resource Lists, and counts its entries and those that the copy has.
func (r *run) sample(ctx context.Context, sets []tree.Set, moves []state.Move) (listed, known int, err error) {
	for _, set := range sets {
		lists := slices.Clone(set.Lists[resourcesync.ResourceList])
		for read := 0; len(lists) > 0 && read < maxSampleLists && listed < maxSample; read++ {
			n, m, parts, err := r.sampleList(ctx, lists[0], moves, maxSample-listed)
			if err != nil {
				return 0, 0, err
			}
			listed, known = listed+n, known+m
			lists = append(parts, lists[1:]...)
		}
	}
	if listed == 0 {
		err = fmt.Errorf("%s has no Resource List with entries, so it is not known whether it is the Source of this copy", r.source)
	}
	return listed, known, err
}

// sampleList counts entries of a list, and returns the first parts of an index, or the document that continues it.
func (r *run) sampleList(ctx context.Context, uri string, moves []state.Move, limit int) (listed, known int, parts []string, err error) {
	d, err := r.reader.Open(ctx, uri, fetch.Validators{})
	if err != nil {
		return 0, 0, nil, err
	}
	defer d.Close()
	p := parse(d)
	defer p.stop()
	for entries := range p.batches {
		for i := range entries {
			uri := entries[i].Loc
			if tree.IsUnreadable(uri) {
				continue
			}
			_, ok, err := r.state.Resource(uri)
			if !ok && err == nil {
				_, _, ok, err = r.state.Moved(uri, moves)
			}
			if err != nil {
				return 0, 0, nil, err
			}
			if listed++; ok {
				known++
			}
			if listed == limit {
				return listed, known, nil, nil
			}
		}
	}
	for _, e := range p.parts.sorted() {
		if len(parts) < maxSampleLists {
			parts = append(parts, e.Loc)
		}
	}
	if next, _ := d.Next(); next != "" {
		parts = append(parts, next)
	}
	return listed, known, parts, p.err
}

// movesTo returns the ways in which URIs can change when a Source moves: the part in which its URLs
// differ, and the scheme and host.
func movesTo(before, now string) []state.Move {
	var moves []state.Move
	a, b := before, now
	for {
		i, j := strings.LastIndexByte(a, '/'), strings.LastIndexByte(b, '/')
		if a[i:] != b[j:] || strings.HasSuffix(a[:i], "/") || strings.HasSuffix(b[:j], "/") {
			break // they differ, or only the hosts are left
		}
		a, b = a[:i], b[:j]
	}
	i, j := strings.LastIndexByte(a, '/'), strings.LastIndexByte(b, '/')
	if len(a) == len(before) { // the names of the documents differ
		a, b = a[:i], b[:j]
	}
	moves = append(moves, state.Move{Old: a + "/", New: b + "/"})
	u, err := url.Parse(before)
	v, err2 := url.Parse(now)
	if origin := (state.Move{}); err == nil && err2 == nil {
		origin.Old, origin.New = u.Scheme+"://"+u.Host+"/", v.Scheme+"://"+v.Host+"/"
		if origin != moves[0] && origin.Old != origin.New {
			moves = append(moves, origin)
		}
	}
	return moves
}

// movedSets returns the new URIs of sets, if they are known: from the moves, or because
// there is only one set.
func movedSets(former []string, sets []tree.Set, moves []state.Move) (moved []state.Move) {
	now := make(map[string]bool, len(sets))
	for _, set := range sets {
		now[set.URI] = true
	}
	for _, uri := range former {
		for _, m := range moves {
			rest, under := strings.CutPrefix(uri, m.Old)
			if under && now[m.New+rest] && !now[uri] {
				moved = append(moved, state.Move{Old: uri, New: m.New + rest})
				break
			}
		}
	}
	if len(moved) == 0 && len(former) == 1 && len(sets) == 1 && !now[former[0]] {
		moved = append(moved, state.Move{Old: former[0], New: sets[0].URI})
	}
	return moved
}
