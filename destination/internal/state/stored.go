package state

import (
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// A link is a stored resourcesync.Link.
type link struct {
	Rel, Href, Type, Encoding, Hashes string
	Length, Modified                  int64
	Pri                               int
}

func stored(links []resourcesync.Link) []link {
	out := make([]link, len(links))
	for i, l := range links {
		out[i] = link{l.Rel, l.Href, l.Type, l.Encoding, hashes(l.Hashes), length(l.Length), nanos(l.Modified), l.Pri}
	}
	return out
}

func fromStored(links []link) []resourcesync.Link {
	out := make([]resourcesync.Link, len(links))
	for i, l := range links {
		out[i] = resourcesync.Link{Rel: l.Rel, Href: l.Href, Type: l.Type, Encoding: l.Encoding, Length: toLength(l.Length), Modified: fromNanos(l.Modified), Pri: l.Pri}
		out[i].Hashes, _ = resourcesync.AppendHashes(nil, l.Hashes)
	}
	return out
}

func length(l resourcesync.Length) int64 {
	if n, known := l.Bytes(); known {
		return n
	}
	return unknownLength
}

func toLength(n int64) resourcesync.Length {
	if n == unknownLength {
		return resourcesync.Length{}
	}
	return resourcesync.Bytes(n)
}

func hashes(h []resourcesync.Hash) string {
	parts := make([]string, len(h))
	for i := range h {
		parts[i] = h[i].String()
	}
	return strings.Join(parts, " ")
}
