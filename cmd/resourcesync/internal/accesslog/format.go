package accesslog

import (
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxField is the maximum number of bytes of a field that clients choose. Headers can be
// far larger than a log should show.
const maxField = 2048

// appendCombined appends a line in the combined format of Apache and nginx.
func appendCombined(line []byte, e *entry) []byte {
	line = appendEscaped(line, e.client())
	line = append(line, " - - ["...)
	line = e.begun.AppendFormat(line, "02/Jan/2006:15:04:05 -0700")
	line = append(line, `] "`...)
	line = appendEscaped(line, e.Method)
	line = append(line, ' ')
	line = appendEscaped(line, e.RequestURI)
	line = append(line, ' ')
	line = append(line, e.Proto...)
	line = append(line, `" `...)
	line = strconv.AppendInt(line, int64(e.status), 10)
	line = append(line, ' ')
	line = strconv.AppendInt(line, e.bytes, 10)
	for _, value := range []string{e.Referer(), e.UserAgent()} {
		line = append(line, ` "`...)
		if value == "" {
			value = "-"
		}
		line = appendEscaped(line, value)
		line = append(line, '"')
	}
	return line
}

// appendEscaped appends text as nginx does: it writes quotes, backslashes and all bytes
// that are not printable ASCII as \xHH. So a client can neither end a line or a field,
// nor send anything to the terminal of the reader.
func appendEscaped(line []byte, text string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(text) {
		switch b := text[i]; {
		case i == maxField:
			return append(line, "..."...)
		case b < ' ' || b > '~' || b == '"' || b == '\\':
			line = append(line, '\\', 'x', hex[b>>4], hex[b&15])
		default:
			line = append(line, b)
		}
	}
	return line
}

// A jsonLine has the fields of a line in JSON.
type jsonLine struct {
	Time      time.Time `json:"time"` // when the request began
	Client    string    `json:"client"`
	Method    string    `json:"method"`
	Host      string    `json:"host"`
	URI       string    `json:"uri"`
	Proto     string    `json:"proto"`
	Status    int       `json:"status"`
	Bytes     int64     `json:"bytes"` // of the body
	Seconds   float64   `json:"seconds"`
	Referer   string    `json:"referer,omitempty"`
	UserAgent string    `json:"user_agent,omitempty"`
	Aborted   bool      `json:"aborted,omitempty"` // the answer is not complete
}

// appendJSON appends an object in one line.
func appendJSON(line []byte, e *entry) []byte {
	text, err := json.Marshal(jsonLine{
		Time: e.begun, Client: printable(e.client()), Method: printable(e.Method), Host: printable(e.Host),
		URI: printable(e.RequestURI), Proto: e.Proto, Status: e.status, Bytes: e.bytes, Seconds: e.took.Seconds(),
		Referer: printable(e.Referer()), UserAgent: printable(e.UserAgent()), Aborted: e.aborted,
	})
	if err != nil {
		panic(err) // every value in it can be written as JSON
	}
	return append(line, text...)
}

// printable returns text with the replacement character in place of unprintable ones:
// JSON allows some control characters that terminals obey.
func printable(text string) string {
	more := ""
	if len(text) > maxField {
		text, more = text[:maxField], "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text) + more
}

// client returns the address of the client without the port.
func (e *entry) client() string {
	if host, _, err := net.SplitHostPort(e.RemoteAddr); err == nil {
		return host
	}
	return e.RemoteAddr
}
