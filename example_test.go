package resourcesync_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// Papers is a Provider: the one method is all that a Source needs. A table would
// be asked for the rows of the range, ordered by the bytes of their keys.
type Papers []resourcesync.Resource

func (p Papers) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, paper := range p {
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Resource{}, err)
				return
			}
			if r.Contains(paper.Key) && !yield(paper, nil) {
				return
			}
		}
	}
}

func ExampleProvider() {
	papers := Papers{
		{Key: "2024/7", URI: "https://example.org/papers/2024/7"},
		{Key: "2025/1", URI: "https://example.org/papers/2025/1", Length: resourcesync.Bytes(8876), Type: "application/pdf"},
		{Key: "2025/2", URI: "https://example.org/papers/2025/2", LastModified: time.Date(2026, 1, 2, 13, 0, 0, 0, time.UTC)},
	}
	for paper, err := range papers.Resources(context.Background(), resourcesync.Range{From: "2025/", To: "2026/"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(paper.URI)
	}
	// Output:
	// https://example.org/papers/2025/1
	// https://example.org/papers/2025/2
}

func ExampleAppendHashes() {
	hashes, ok := resourcesync.AppendHashes(nil, "md5:1584abdf8ebdc9802ac0c6a7402c03b6 sha-1:2fd4e1c67a2d28fced849ee1bb76e7391b93eb12")
	fmt.Println(ok)
	for _, h := range hashes {
		fmt.Println(h.Algorithm, h)
	}
	// Output:
	// true
	// md5 md5:1584abdf8ebdc9802ac0c6a7402c03b6
	// sha-1 sha-1:2fd4e1c67a2d28fced849ee1bb76e7391b93eb12
}

func ExampleInterval() {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	first := resourcesync.Interval{From: day(1), Until: day(2)}
	second := resourcesync.Interval{From: day(2)}
	fmt.Println(first.Contains(day(2)), second.Contains(day(2)))
	fmt.Println(first.Open(), second.Open())
	// Output:
	// true false
	// false true
}
