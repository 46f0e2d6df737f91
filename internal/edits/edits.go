// Package edits compares words that may be misspelt.
package edits

// Distance returns the edit distance of a and b: insertions, deletions, replacements and
// swaps of neighbours, in bytes. If there are more than most, it returns a greater number than
// most.
func Distance(a, b string, most int) int {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if a == "" || b == "" || most == 0 {
		return max(len(a), len(b))
	}
	most--
	n := min(Distance(a[1:], b, most), Distance(a, b[1:], most), Distance(a[1:], b[1:], most))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		n = min(n, Distance(a[2:], b[2:], most))
	}
	return n + 1
}
