// Package copyname writes the name of a copy into a User-Agent, and reads it there.
package copyname

import "strings"

// Max is the maximum length of a name in bytes.
const Max = 64

// signs are the characters of a token that are neither letters nor digits.
const signs = "!#$%&'*+-.^_`|~"

// Rule says which names are valid.
const Rule = "letters, digits and " + signs + ", 64 at most"

const begin, end = "(name=", ")"

// Valid reports whether name is a token (RFC 9110, section 5.6.2) of at most Max bytes.
func Valid(name string) bool {
	return name != "" && len(name) <= Max && strings.IndexFunc(name, func(r rune) bool { return !isToken(r) }) < 0
}

func isToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(signs, r)
}

// Add returns a User-Agent with the name of a copy as a comment (RFC 9110, section 10.1.5). The name
// must be valid.
func Add(agent, name string) string { return agent + " " + begin + name + end }

// maxAgent is the length of the beginning of a User-Agent in which a name is looked for, in bytes.
const maxAgent = 512

// In returns the name of a copy in the first 512 bytes of a User-Agent, or "" if there is none.
func In(agent string) string {
	agent = agent[:min(len(agent), maxAgent)]
	for {
		comment, rest, ok := strings.Cut(agent, end)
		if !ok {
			return ""
		}
		if i := strings.LastIndex(comment, begin); i >= 0 && Valid(comment[i+len(begin):]) {
			return comment[i+len(begin):]
		}
		agent = rest
	}
}
