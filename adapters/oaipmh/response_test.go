package oaipmh

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func webOnly(text string) (string, bool) { return text, strings.HasPrefix(text, "http") }

func read(r io.Reader) (*response, []record, error) {
	var records []record
	res, err := parse(r, webOnly, func(rec record) error { records = append(records, rec); return nil })
	return res, records, err
}

func TestParse(t *testing.T) {
	const begin = `<?xml version="1.0" encoding="UTF-8"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate> 2026-01-01T00:00:00Z </responseDate>`
	for _, c := range []struct {
		name, text string
		records    string
		res        response
	}{
		{"records", begin + `<request verb="ListRecords">http://repo.example/oai</request><ListRecords>
			<record><header><identifier>oai:a:1</identifier><datestamp>2026-01-01</datestamp><setSpec>x</setSpec><setSpec>y</setSpec></header>
			<metadata><oai_dc:dc xmlns:oai_dc="o"><dc:identifier>ISBN 1</dc:identifier><dc:identifier><![CDATA[http://repo.example/1?a&b]]></dc:identifier>
			<dc:identifier>http://repo.example/2</dc:identifier></oai_dc:dc></metadata>
			<about><identifier>http://repo.example/about</identifier></about></record>
			<record><header status="deleted"><identifier>oai:a:2</identifier><datestamp>2026-01-02</datestamp></header></record>
			<resumptionToken completeListSize="7" cursor="0">to&amp;ken </resumptionToken></ListRecords></OAI-PMH>`,
			`[{oai:a:1 2026-01-01 false [x y] http://repo.example/1?a&b} {oai:a:2 2026-01-02 true [] }]`,
			response{verb: "ListRecords", date: "2026-01-01T00:00:00Z", token: "to&ken", size: 7, records: 2, lastKnown: "oai:a:2"}},
		{"headers", begin + `<ListIdentifiers><header><identifier>a</identifier></header><header status="deleted"><identifier>b</identifier></header>
			<resumptionToken/></ListIdentifiers></OAI-PMH>`,
			`[{a  false [] } {b  true [] }]`,
			response{verb: "ListIdentifiers", date: "2026-01-01T00:00:00Z", records: 2, lastKnown: "b"}},
		{"a prefix", `<o:OAI-PMH xmlns:o="http://www.openarchives.org/OAI/2.0/"><o:error code="badArgument">What&nbsp;is&#x0;this?</o:error></o:OAI-PMH>`, `[]`,
			response{errors: []protocolError{{"badArgument", "What\u00a0is\ufffdthis?"}}}},
		{"identity", begin + `<Identify><repositoryName>A &amp; B</repositoryName><earliestDatestamp>1990</earliestDatestamp><deletedRecord>no</deletedRecord>
			<granularity>YYYY-MM-DD</granularity><description><identifier>http://x</identifier></description></Identify></OAI-PMH>`, `[]`,
			response{verb: "Identify", date: "2026-01-01T00:00:00Z", identity: identity{"A & B", "1990", "no", "YYYY-MM-DD"}}},
		{"formats", begin + `<ListMetadataFormats><metadataFormat><metadataPrefix>oai_dc</metadataPrefix></metadataFormat></ListMetadataFormats></OAI-PMH>`, `[]`,
			response{verb: "ListMetadataFormats", date: "2026-01-01T00:00:00Z", formats: []string{"oai_dc"}}},
		{"Latin-1", "<?xml version='1.0' encoding='ISO-8859-1'?><OAI-PMH><Identify><repositoryName>caf\xe9</repositoryName></Identify></OAI-PMH>", `[]`,
			response{verb: "Identify", identity: identity{Name: "caf\u00e9"}}},
		{"not UTF-8", "\ufeff<OAI-PMH><Identify><repositoryName>caf\xe9 \x00</repositoryName></Identify></OAI-PMH>", `[]`,
			response{verb: "Identify", identity: identity{Name: "caf\ufffd \ufffd"}}},
	} {
		res, records, err := read(strings.NewReader(c.text))
		if err != nil || fmt.Sprint(records) != c.records || !reflect.DeepEqual(*res, c.res) {
			t.Errorf("%s: the records are %v, expected %s;\nthe response is %+v, expected %+v; error %v", c.name, records, c.records, *res, c.res, err)
		}
	}
}

func TestParse_Errors(t *testing.T) {
	deep := strings.Repeat("<a>", maxDepth)
	for text, want := range map[string]string{
		"":                             "is not an OAI-PMH response",
		"Fatal error":                  "is not an OAI-PMH response",
		"<html/>":                      "begins with <html>",
		"<OAI-PMH>":                    "unexpected EOF",
		"<OAI-PMH></Identify>":         "in the wrong place",
		"<OAI-PMH>" + deep:             "nested too deeply",
		"<OAI-PMH>&unknown;</OAI-PMH>": "invalid character entity",
		"<OAI-PMH><error>" + deep[:9]:  "unexpected EOF",
		`<?xml version="1.0" encoding="EBCDIC-XX"?><OAI-PMH/>`:                                                                    `in the encoding "EBCDIC-XX"`,
		"<OAI-PMH><ListRecords><record><header><identifier>oai:a:1</identifier></header></record><record>":                        `after the record "oai:a:1"`,
		"<OAI-PMH><ListRecords><resumptionToken>" + strings.Repeat("x", maxText+1) + "</resumptionToken></ListRecords></OAI-PMH>": "more than 16384 bytes",
	} {
		if _, _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: the error is %v, expected %q", text, err, want)
		}
	}
	failed := errors.New("failed")
	_, err := parse(strings.NewReader("<OAI-PMH><ListRecords><record/>"), webOnly, func(record) error { return failed })
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
}

// An endless reader repeats text, and then calls end.
type endless struct {
	text string
	at   int
	left int
	end  func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		e.end()
		return 0, io.EOF
	}
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= n
	return n, nil
}

// TestParse_Memory reads long responses in little memory.
func TestParse_Memory(t *testing.T) {
	for _, c := range []struct{ begin, repeated, want string }{
		{"<OAI-PMH><ListRecords>", "<record><header><identifier>oai:a:1</identifier></header><metadata><identifier>http://repo.example/</identifier></metadata></record>", "unexpected EOF"},
		{"<OAI-PMH>", "<error code='badArgument'>no</error>", "unexpected EOF"},
		{"<OAI-PMH><ListMetadataFormats>", "<metadataFormat><metadataPrefix>oai_dc</metadataPrefix></metadataFormat>", "unexpected EOF"},
		{"<OAI-PMH><ListRecords><record><header>", "<setSpec>physics</setSpec>", "unexpected EOF"},
		{"<OAI-PMH>", strings.Repeat("a text without end ", 50), errLongToken.Error()},
		{"<OAI-PMH ", "a='b' ", errLongToken.Error()},
	} {
		before, after := allocated(), uint64(0)
		size := 2 << 20
		if c.want == errLongToken.Error() {
			size = maxToken + 1<<20
		}
		r := io.MultiReader(strings.NewReader(c.begin), &endless{text: c.repeated, left: size, end: func() { after = allocated() }})
		_, err := parse(r, webOnly, func(record) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s: the error is %v, expected %q", c.repeated, err, c.want)
		}
		if after > before+uint64(size)/4 {
			t.Errorf("%.40s: %d KiB are in use", c.repeated, (after-before)>>10)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.xml")
	if err != nil || len(files) == 0 {
		f.Fatal("no examples", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("<OAI-PMH><error code='x'>&#11; \x0b \xff</error></OAI-PMH>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var n int64
		res, err := parse(strings.NewReader(string(text)), webOnly, func(rec record) error {
			if n++; rec.uri != "" && !strings.HasPrefix(rec.uri, "http") {
				t.Errorf("the URI is %q", rec.uri)
			}
			return nil
		})
		if err != nil {
			return
		}
		if res.records != n || len(res.token) > maxText || len(res.errors) > maxItems {
			t.Errorf("the response is %+v after %d records", res, n)
		}
		for _, r := range res.token + res.date + res.identity.Name {
			if !isAllowed(r) {
				t.Errorf("the response has the character %U", r)
			}
		}
	})
}
