package dir

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// charsetLen is the number of bytes within which HTML names its charset.
	charsetLen = 1024

	// textLen is the number of bytes in which a text is searched for a character outside of
	// ASCII, and textAtOnce the number that one call reads.
	textLen    = 64 << 10
	textAtOnce = 4 << 10
)

// withCharset adds charset=utf-8 to the media type of a text in UTF-8. Browsers assume an old
// encoding for a text without a charset. A charset in the header overrides one in the text, so it
// is not added to a text that names one, or that may be in another encoding.
func withCharset(mediaType string, f io.ReaderAt) (string, error) {
	if !strings.HasPrefix(mediaType, "text/") {
		return mediaType, nil
	}
	if ok, err := isUTF8(f); !ok || err != nil {
		return mediaType, err
	}
	return mediaType + "; charset=utf-8", nil
}

// isUTF8 reports whether f is a text in UTF-8 that names no charset. It reads up to the first
// character outside of ASCII: the encodings differ only in such characters. If there is none in the
// first textLen bytes, a longer text may be in any encoding.
func isUTF8(f io.ReaderAt) (bool, error) {
	buf := make([]byte, textAtOnce)
	for at := 0; at < textLen; {
		n, err := f.ReadAt(buf, int64(at))
		if err != nil && err != io.EOF {
			return false, err
		}
		text, isEnd := buf[:n], err == io.EOF
		if !isEnd {
			text = withoutPart(text)
		}
		if at == 0 && bytes.Contains(bytes.ToLower(text[:min(len(text), charsetLen)]), []byte("charset")) {
			return false, nil
		}
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 { // a NUL is in UTF-16, and in no text
			return false, nil
		}
		if isEnd || !isASCII(text) {
			return true, nil
		}
		at += len(text)
	}
	return false, nil
}

func isASCII(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// withoutPart removes the beginning of a character from the end of text.
func withoutPart(text []byte) []byte {
	for i := len(text) - 1; i >= 0 && len(text)-i < utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}
