package rsxml

import (
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/edits"
)

// Namespaces are compared as strings, so a misspelt one hides its elements from a strict
// Destination. Without the elements of ResourceSync, a document would be read as a plain
// sitemap, and a Capability List as a list of resources.

// sameNS reports whether ns is the namespace want or a misspelling that can be read.
func sameNS(ns, want string) bool {
	return strings.EqualFold(bareNS(ns), bareNS(want))
}

func bareNS(ns string) string {
	if _, rest, ok := strings.Cut(ns, "://"); ok {
		ns = rest
	}
	if www := "www."; len(ns) >= len(www) && strings.EqualFold(ns[:len(www)], www) {
		ns = ns[len(www):]
	}
	return strings.TrimRight(ns, "/")
}

// isOtherTerms reports whether ns is meant to be a namespace of ResourceSync, and is not one that
// can be read: one below its address, with up to two wrong letters in the host; one with its path
// and up to four wrong letters in the host; or one that differs from it in one letter. (The
// namespace of OAI-ORE, http://www.openarchives.org/ore/terms/, differs in two.) The scheme, a port
// and the number of slashes do not matter.
func isOtherTerms(ns string) bool {
	address := strings.Trim(ns, separators)
	host, rest := segment(address)
	if rest != "" && !strings.Contains(strings.TrimRight(host, "."), ".") { // the scheme
		address = rest
		host, rest = segment(address)
	}
	address, host = strings.TrimLeft(address, "wW."), strings.TrimLeft(host, "wW.")
	folder, rest := segment(rest)
	if strings.Trim(folder, "0123456789") == "" { // the port
		folder, rest = segment(rest)
	}
	name, rest := segment(rest)
	return (strings.EqualFold(folder, "rs") && isNear(host, "openarchives.org", 2) ||
		strings.EqualFold(folder, "rs") && strings.EqualFold(name, "terms") && rest == "" && isNear(host, "openarchives.org", 4) ||
		isNear(address, "openarchives.org/rs/terms", 1)) && !sameNS(ns, TermsNS)
}

// separators are the characters between the parts of a namespace, and the ones written
// there by mistake.
const separators = ":/\\?# \t\r\n"

// segment divides the text of a namespace after its first part.
func segment(text string) (first, rest string) {
	n := strings.IndexAny(text, separators)
	if n < 0 {
		return text, ""
	}
	return text[:n], strings.TrimLeft(text[n:], separators)
}

// isNear reports whether a, in any case, is b with at most that many wrong letters. b is short.
func isNear(a, b string, most int) bool {
	if max(len(a)-len(b), len(b)-len(a)) > most {
		return false
	}
	var lower [32]byte // strings.ToLower would allocate
	n := copy(lower[:], a)
	for i, c := range lower[:n] {
		if 'A' <= c && c <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	return edits.Distance(string(lower[:n]), b, most) <= most
}

// otherTerms returns the error of a document with such a namespace.
func (d *Decoder) otherTerms(ns string) error {
	return d.fail(core4, "namespace", "the namespace %s is not a known one of ResourceSync: use %s", quote(ns), TermsNS)
}
