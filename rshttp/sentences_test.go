package rshttp_test

import "testing"

// sentences are those of the core specification that show in the documents of a Source, by their
// numbers in docs/requirements.md and their sections.
var sentences = []struct {
	name  string
	shown []shown
}{
	{"CO1 4", []shown{namespaces()}},
	{"CO2 6.1", []shown{root("urlset", sd, cl, rl, rd, rdm, chl, cd, cdm), root("sitemapindex", rli, rdi, chli, cdi)}},
	{"CO3 6.1", []shown{children(sd, cl)}},
	{"CO7 6.1", []shown{advertised()}},
	{"CO11 6.1", []shown{divided()}},
	{"CO13 6.1", []shown{sameCapability()}},
	{"CO14 6.2", []shown{up(cl, rl, rli, rd, rdi, rdm, chl, chli, cd, cdi, cdm)}},
	{"CO15 6.2", []shown{ups()}},
	{"CO16 6.2", []shown{indexLink(rl, rd, chl, cd)}},
	{"CO17 6.2", []shown{indexLink(rl, rd, chl, cd)}},
	{"CO18 6.2", []shown{advertised()}},
	{"CO19 6.3.2", []shown{children(sd, cl)}},
	{"CO20 6.3.2", []shown{children(sd, cl)}},
	{"CO32 7", []shown{namespaces()}},
	{"CO33 7", []shown{plainAttributes()}},
	{"CO35 7", []shown{plainAttributes()}},
	{"CO36 7", []shown{root("urlset", sd, cl, rl, rd, rdm, chl, cd, cdm), root("sitemapindex", rli, rdi, chli, cdi)}},
	{"CO37 7", []shown{oneMD()}},
	{"CO38 7", []shown{headNot("at", sd, cl, chl, chli, cd, cdi, cdm)}},
	{"CO40 7", []shown{datetimes()}},
	{"CO41 7", []shown{datetimes()}},
	{"CO42 7", []shown{oneMD()}},
	{"CO43 7", []shown{sameCapability()}},
	{"CO46 7", []shown{headNot("from", sd, cl, rl, rli, rd, rdi, rdm)}},
	{"CO48 7", []shown{headNot("until", sd, cl, rl, rli, rd, rdi, rdm)}},
	{"CO51 7", []shown{headLinks()}},
	{"CO52 7", []shown{hrefs()}},
	{"CO53 7", []shown{hrefs()}},
	{"CO54 7", []shown{headLinks()}},
	{"CO65 7", []shown{advertised()}},
	{"CO83 7", []shown{hrefs()}},
	{"CO84 7", []shown{hrefs()}},
	{"CO91 7", []shown{relations()}},
	{"CO92 8", []shown{children(sd, cl)}},
	{"CO93 8", []shown{root("urlset", sd)}},
	{"CO94 8", []shown{capability("description", sd)}},
	{"CO95 8", []shown{headLink("describedby", sd)}},
	{"CO96 8", []shown{children(sd, cl)}},
	{"CO103 9", []shown{children(sd, cl)}},
	{"CO104 9", []shown{onceEach()}},
	{"CO107 9", []shown{root("urlset", cl)}},
	{"CO108 9", []shown{capability("capabilitylist", cl)}},
	{"CO109 9", []shown{up(cl)}},
	{"CO110 9", []shown{headLink("describedby", cl)}},
	{"CO113 9", []shown{advertised()}},
	{"CO116 9", []shown{root("urlset", cl)}},
	{"CO117 10", []shown{root("urlset", rl)}},
	{"CO120 10.1", []shown{root("urlset", rl)}},
	{"CO121 10.1", []shown{capability("resourcelist", rl)}},
	{"CO122 10.1", []shown{headHas("at", rl)}},
	{"CO124 10.1", []shown{up(rl)}},
	{"CO125 10.1", []shown{indexLink(rl)}},
	{"CO132 10.2", []shown{root("sitemapindex", rli)}},
	{"CO133 10.2", []shown{capability("resourcelist", rli)}},
	{"CO134 10.2", []shown{headHas("at", rli)}},
	{"CO136 10.2", []shown{up(rli)}},
	{"CO147 11.1", []shown{root("urlset", rd)}},
	{"CO148 11.1", []shown{capability("resourcedump", rd)}},
	{"CO149 11.1", []shown{headHas("at", rd)}},
	{"CO151 11.1", []shown{up(rd)}},
	{"CO152 11.1", []shown{indexLink(rd)}},
	{"CO160 11.1", []shown{divided()}},
	{"CO163 11.2", []shown{root("urlset", rdm)}},
	{"CO164 11.2", []shown{capability("resourcedump-manifest", rdm)}},
	{"CO165 11.2", []shown{headHas("at", rdm)}},
	{"CO167 11.2", []shown{up(rdm)}},
	{"CO176 12", []shown{root("urlset", chl)}},
	{"CO177 12.1", []shown{divided()}},
	{"CO180 12.1", []shown{root("urlset", chl)}},
	{"CO181 12.1", []shown{capability("changelist", chl)}},
	{"CO182 12.1", []shown{headHas("from", chl)}},
	{"CO183 12.1", []shown{someHead("until", chl)}},
	{"CO184 12.1", []shown{up(chl)}},
	{"CO185 12.1", []shown{indexLink(chl)}},
	{"CO201 12.2", []shown{divided()}},
	{"CO203 12.2", []shown{root("sitemapindex", chli)}},
	{"CO204 12.2", []shown{capability("changelist", chli)}},
	{"CO206 12.2", []shown{up(chli)}},
	{"CO221 13.1", []shown{root("urlset", cd)}},
	{"CO222 13.1", []shown{capability("changedump", cd)}},
	{"CO224 13.1", []shown{up(cd)}},
	{"CO225 13.1", []shown{indexLink(cd)}},
	{"CO233 13.1", []shown{divided()}},
	{"CO237 13.2", []shown{root("urlset", cdm)}},
	{"CO238 13.2", []shown{capability("changedump-manifest", cdm)}},
	{"CO239 13.2", []shown{headHas("from", cdm)}},
	{"CO241 13.2", []shown{up(cdm)}},
	{"CO253 14.1", []shown{relations()}},
}

// TestSentences publishes a Source with each kind of document, reads it over HTTP, and holds it to
// the sentences of the core specification.
func TestSentences(t *testing.T) {
	p := publish(t)
	for _, s := range sentences {
		t.Run(s.name, func(t *testing.T) {
			for _, shown := range s.shown {
				shown(t, p)
			}
		})
	}
}
