package main

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

//docs:begin shelf

// A Shelf holds the papers of an application. It stands for your own data.
type Shelf struct {
	mu     sync.RWMutex
	papers []Paper // sorted by ID
	log    []event // what happened, oldest first
	opened time.Time

	snapshots []snapshot // earlier Resource Lists, for step 9
}

// A Paper is a text with a name.
type Paper struct {
	ID, Text string
	Modified time.Time
}

// An event is the creation, update or deletion of a paper.
type event struct {
	kind   resourcesync.ChangeType
	at     time.Time
	paper  Paper
	before string // the text of an updated paper
}

// NewShelf returns an empty shelf.
func NewShelf() *Shelf { return &Shelf{opened: now()} }

// now returns the time in microseconds, the precision that documents have.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// find returns the position of a paper, or where it belongs, and whether it is there.
func (s *Shelf) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.papers, id, func(p Paper, id string) int { return strings.Compare(p.ID, id) })
}

// Put creates or replaces a paper.
func (s *Shelf) Put(id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := Paper{ID: id, Text: text, Modified: s.next()}
	if i, found := s.find(id); found {
		before := s.papers[i].Text
		s.papers[i] = p
		s.record(resourcesync.Updated, p, before)
	} else {
		s.papers = slices.Insert(s.papers, i, p)
		s.record(resourcesync.Created, p, "")
	}
}

// Delete removes a paper.
func (s *Shelf) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, found := s.find(id); found {
		s.record(resourcesync.Deleted, Paper{ID: id, Modified: s.next()}, "")
		s.papers = slices.Delete(s.papers, i, i+1)
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

//docs:end

//docs:begin next

// next returns the time of the next change: later than the time of any earlier change.
func (s *Shelf) next() time.Time {
	last := s.opened
	if n := len(s.log); n > 0 {
		last = s.log[n-1].at
	}
	if t := now(); t.After(last) {
		return t
	}
	return last.Add(time.Microsecond)
}

func (s *Shelf) record(kind resourcesync.ChangeType, p Paper, before string) {
	s.log = append(s.log, event{kind, p.Modified, p, before})
}

//docs:end
