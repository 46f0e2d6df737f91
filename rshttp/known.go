package rshttp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"
	"time"
)

// knownFormat is the version of the format of a known. A known in an unsupported format
// is discarded, and all documents are announced as new.
const knownFormat = 2

// A known is the state of the documents at the newest Framework Notification of a channel.
// Its size does not depend on the number of documents.
type known struct {
	Format         int           `json:"format"`
	Description    string        `json:"description,omitempty"`    // a digest
	CapabilityList string        `json:"capabilitylist,omitempty"` // a digest
	ResourceList   *knownPages   `json:"resourcelist,omitempty"`
	ResourceDump   *knownDump    `json:"resourcedump,omitempty"`
	Journal        *knownJournal `json:"journal,omitempty"`
	ChangeList     *knownWindows `json:"changelist,omitempty"`
	ChangeDump     *knownWindows `json:"changedump,omitempty"`
}

// knownPages is the last announced state of the pages of a Resource List.
type knownPages struct {
	Version string    `json:"version"` // a digest of the content of all pages
	Count   int       `json:"count"`   // zero if unknown
	Newest  time.Time `json:"newest,omitzero"`
	Born    time.Time `json:"born,omitzero"` // when the newest of them was split off
}

// knownDump is the last announced state of a Resource Dump.
type knownDump struct {
	Version   string    `json:"version"`
	Announced time.Time `json:"announced"`
}

// knownJournal is the last announced state of a journal.
type knownJournal struct {
	Version string    `json:"version,omitempty"`
	Newest  time.Time `json:"newest,omitzero"` // of its changes
}

// knownWindows is the last announced state of the documents for windows of a journal.
type knownWindows struct {
	Index bool      `json:"index,omitempty"`
	Open  time.Time `json:"open"`           // where the open window begins
	Until time.Time `json:"until,omitzero"` // of the packages of a Change Dump
}

// parseKnown parses the result of text. Format 1 had a mark for each page, in fields with
// other names. Because it has no version of the pages, the newest list is announced once
// more, and a dump when it is due.
func parseKnown(s string) known {
	var k known
	if json.Unmarshal([]byte(s), &k) != nil || k.Format != knownFormat && k.Format != 1 {
		return known{Format: knownFormat}
	}
	if k.Format == 1 && k.ResourceDump != nil {
		k.ResourceDump.Announced = time.Now().UTC()
	}
	k.Format = knownFormat
	return k
}

// text writes k. It fails for times in years that have more than four digits.
func (k *known) text() (string, error) {
	b, err := json.Marshal(k)
	return string(b), err
}

// digestOf returns a digest of text.
func digestOf(text ...string) string {
	h := sha256.New()
	for _, s := range text {
		_, _ = io.WriteString(h, strconv.Itoa(len(s))+" "+s)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
