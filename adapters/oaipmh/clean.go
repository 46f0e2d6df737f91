package oaipmh

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// maxToken is the maximum length, in bytes, of an XML token: a tag with its attributes, a
// comment, or a text. The decoder keeps the complete token in memory.
const maxToken = 4 << 20

var errLongToken = fmt.Errorf("has a tag, a comment or a text of more than %d bytes", maxToken)

// A cleaner reads XML as UTF-8, and replaces characters that XML 1.0 forbids by U+FFFD: control
// characters, also as character references, and bytes that are not UTF-8. Repositories copy
// such characters from the metadata of their depositors, and one of them would otherwise make
// all records of the response unreadable.
type cleaner struct {
	r    *bufio.Reader
	rest []byte // of the last character, not yet read
	buf  [8]byte
	left int // bytes of the token that may still be read
}

// declared finds the encoding in the XML declaration.
var declared = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)

// newCleaner returns a cleaner of r. The protocol demands UTF-8 (section 3.2), and a document
// in another encoding says so.
func newCleaner(r io.Reader) (*cleaner, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	begin, err := br.Peek(256)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.HasPrefix(begin, []byte("\uFEFF")) {
		_, _ = br.Discard(len("\uFEFF"))
	}
	if m := declared.FindSubmatch(begin); m != nil && !strings.EqualFold(string(m[1]), "utf-8") {
		converted, err := charset.NewReaderLabel(string(m[1]), br)
		if err != nil {
			return nil, fmt.Errorf("is in the encoding %q, which is unknown; the protocol demands UTF-8", m[1])
		}
		br = bufio.NewReaderSize(converted, 64<<10)
	}
	return &cleaner{r: br}, nil
}

// ReadByte implements [io.ByteReader].
func (c *cleaner) ReadByte() (byte, error) {
	if c.left--; c.left < 0 {
		return 0, errLongToken
	}
	if len(c.rest) > 0 {
		b := c.rest[0]
		c.rest = c.rest[1:]
		return b, nil
	}
	b, err := c.r.ReadByte()
	if err != nil || b >= ' ' && b < utf8.RuneSelf && b != '&' || b == '\n' || b == '\t' || b == '\r' {
		return b, err
	}
	return c.special(b)
}

// special returns the first byte of the replacement for a character that begins with b.
func (c *cleaner) special(b byte) (byte, error) {
	if b == '&' {
		if n := c.illegalReference(); n > 0 {
			_, err := c.r.Discard(n)
			return c.put(utf8.RuneError), err
		}
		return b, nil
	}
	if err := c.r.UnreadByte(); err != nil {
		return 0, err
	}
	char, _, err := c.r.ReadRune()
	if err != nil {
		return 0, err
	}
	if !isAllowed(char) {
		char = utf8.RuneError
	}
	return c.put(char), nil
}

// put keeps the UTF-8 of char, and returns its first byte.
func (c *cleaner) put(char rune) byte {
	n := utf8.EncodeRune(c.buf[:], char)
	c.rest = c.buf[1:n]
	return c.buf[0]
}

// maxReference is the length of the longest reference that is looked at.
const maxReference = 12

// illegalReference returns the length of the rest of a character reference, after its &, if
// its character is not allowed; otherwise 0.
func (c *cleaner) illegalReference() int {
	next, _ := c.r.Peek(maxReference)
	if len(next) < 3 || next[0] != '#' {
		return 0
	}
	digits, _, ok := strings.Cut(string(next[1:]), ";")
	if !ok {
		return 0
	}
	n, base := len(digits)+2, 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	char, err := strconv.ParseUint(digits, base, 31)
	if err != nil || isAllowed(rune(char)) {
		return 0
	}
	return n
}

// isAllowed reports whether XML 1.0 allows a character (section 2.2).
func isAllowed(c rune) bool {
	return c == '\t' || c == '\n' || c == '\r' || c >= ' ' && c <= 0xD7FF ||
		c >= 0xE000 && c <= 0xFFFD || c >= 0x10000 && c <= 0x10FFFF
}

// Read implements [io.Reader]. The decoder reads bytes.
func (c *cleaner) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var b byte
		if b, err = c.ReadByte(); err == nil {
			p[n] = b
			n++
		}
	}
	return n, err
}
