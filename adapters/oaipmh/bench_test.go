package oaipmh

import (
	"strings"
	"testing"
)

// BenchmarkParse reads a response of 1,000 records.
func BenchmarkParse(b *testing.B) {
	one := `<record><header><identifier>oai:repo.example:123456789/42</identifier><datestamp>2026-11-20T10:30:00Z</datestamp><setSpec>com_1</setSpec></header>
<metadata><oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>On harvesting</dc:title><dc:description>` + strings.Repeat("A sentence of an abstract. ", 40) + `</dc:description>
<dc:identifier>doi:10.5555/42</dc:identifier><dc:identifier>https://repo.example/handle/123456789/42</dc:identifier></oai_dc:dc></metadata></record>
`
	text := "<OAI-PMH><ListRecords>" + strings.Repeat(one, 1000) + "</ListRecords></OAI-PMH>"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := parse(strings.NewReader(text), webOnly, func(record) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
