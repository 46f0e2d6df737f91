package tree

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// The budget of discovery: a Source can describe itself without an end. A Source has one Source
// Description, or one for each part of an index, and one Capability List for each set.
const (
	maxSets         = 10_000
	maxDescriptions = 100
	maxDepth        = 4 // levels of documents above a Capability List

	// maxBytes is the maximum number of bytes of all documents above the lists, and maxTime
	// the time to read them, without waiting for the limits and pauses of hosts.
	maxBytes = 100 << 20
	maxTime  = 10 * time.Minute
)

var (
	errManySets         = fmt.Errorf("the Source has more than %d sets", maxSets)
	errManyDescriptions = fmt.Errorf("the Source has more than %d Source Descriptions", maxDescriptions)
	errDeep             = fmt.Errorf("the Source has more than %d levels of Source Descriptions", maxDepth)
	errManyBytes        = fmt.Errorf("the documents above the lists of the Source have more than %d bytes", maxBytes)
	errSlow             = fmt.Errorf("reading the documents above the lists of the Source takes longer than %v", maxTime)
)

// A Budget counts the reading of a discovery from the documents above the lists of a Source. The
// zero value has read none.
type Budget struct {
	descriptions, sets int
	bytes              int64
	took               time.Duration
}

// Description counts a Source Description.
func (b *Budget) Description() error {
	if b.descriptions++; b.descriptions > maxDescriptions {
		return errManyDescriptions
	}
	return nil
}

// Sets counts sets.
func (b *Budget) Sets(n int) error {
	if b.sets += n; b.sets > maxSets {
		return errManySets
	}
	return nil
}

// Read counts the bytes of a document, and the time that it has taken.
func (b *Budget) Read(bytes int64, took time.Duration) error {
	b.bytes += bytes
	b.took += took
	switch {
	case b.bytes > maxBytes:
		return errManyBytes
	case b.took > maxTime:
		return errSlow
	}
	return nil
}

// CheckDepth returns an error if no document may be below as many others.
func CheckDepth(depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	return nil
}

// A budget limits a discovery.
type budget struct {
	Budget
	seen  map[string]bool // documents that have been requested
	begun time.Time
	waits *fetch.Waits
}

// newBudget returns a budget, and the context of its requests.
func newBudget(ctx context.Context) (*budget, context.Context) {
	b := &budget{seen: make(map[string]bool), begun: time.Now(), waits: &fetch.Waits{}}
	return b, fetch.WithWaits(ctx, b.waits)
}

// check returns an error if the budget is used up. No budget allows everything.
func (b *budget) check() error {
	if b == nil {
		return nil
	}
	return b.Read(0, time.Since(b.begun)-b.waits.Total()-b.took)
}

// visit reports whether a document has not been requested before.
func (b *budget) visit(uri string) bool {
	visited := b.seen[uri]
	b.seen[uri] = true
	return !visited
}

// A budgeted reader uses a budget.
type budgeted struct {
	io.Reader
	budget *budget
}

// Read implements [io.Reader].
func (r *budgeted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.budget.bytes += int64(n)
	if over := r.budget.check(); over != nil {
		return n, over
	}
	return n, err
}

// document requests a document, within the budget of r.
func (r *Reader) document(ctx context.Context, uri string, known fetch.Validators) (*fetch.Document, error) {
	if err := r.budget.check(); err != nil {
		return nil, err
	}
	res, err := r.Client.Document(ctx, uri, known)
	if err == nil && r.budget != nil {
		res.Reader = &budgeted{res.Reader, r.budget}
	}
	return res, err
}
