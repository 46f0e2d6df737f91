package browsertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/browsertest"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// TestUse acts like a user: it opens the URL of a document, turns pages with and
// without JavaScript, opens the XML, and sees a change as it happens.
func TestUse(t *testing.T) {
	live := time.Now()
	papers := set(t, "papers", 400, &live)
	sockets, err := websocket.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	push := topic.Options{Flush: 50 * time.Millisecond}
	_, site := start(t, rshttp.Options{WebSocket: sockets, Push: push}, rshttp.Set{Provider: papers})
	if sockets, err = websocket.New(nil); err != nil {
		t.Fatal(err)
	}
	_, several := start(t, rshttp.Options{WebSocket: sockets, Push: push}, rshttp.Set{Name: "notes", Provider: set(t, "notes", 10, &live)}, rshttp.Set{Name: "papers", Provider: papers})
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() { // a change every second, so that some come after the page is open
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			if err := papers.Put(t.Context(), resourcesync.Resource{Key: fmt.Sprint("live", i), URI: fmt.Sprintf("https://example.org/live/%d?%%3Cb%%3E&c", i)}); err != nil {
				t.Error(err)
				return
			}
			if err := papers.Delete(t.Context(), fmt.Sprint("live", i-1)); err != nil {
				t.Error(err)
			}
		}
	}()
	browsertest.Run(t, fmt.Sprintf("const site = %q, several = %q;", site, several)+`
const rows = page => page.$$eval('tbody td:first-child a', links => links.map(a => a.textContent));
for (const javaScriptEnabled of [true, false]) {
  const page = await open(site + '/resourcesync/resourcelist.xml', 'light', {javaScriptEnabled});
  expect(await page.textContent('h1') === 'Resource List', 'the URL of the XML shows no page');
  const first = await rows(page);
  expect(first.length === 150, first.length + ' rows');

  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement.className) === 'skip', 'the first Tab does not lead to the link to the content');

  const seen = new Set(first);
  for (let next; (next = await page.$('a[rel=next]'));) {
    await Promise.all([page.waitForNavigation(), next.click()]);
    for (const row of await rows(page)) { expect(!seen.has(row), row + ' is on two pages'); seen.add(row); }
  }
  expect(seen.size > 300, seen.size + ' resources on all pages');

  await Promise.all([page.waitForURL(/xml$/), page.click('a.raw')]);
  expect(/<urlset/.test(await (await page.context().request.get(page.url())).text()), 'the link to the XML leads elsewhere');
  await page.goto(site + '/.well-known/resourcesync');
  for (const link of ['All resources', 'Change List', 'Source']) {
    await Promise.all([page.waitForNavigation(), page.click('main >> text="' + link + '"')]);
  }
  await page.context().close();
}
const lives = ['description', 'capabilitylist', 'changelist', 'changelist/recent'].map(path => site + '/resourcesync/' + path + '.html');
for (const url of [...lives, several + '/resourcesync/description.html']) {
  const page = await open(url);
  await page.waitForSelector('[data-live]:not([hidden])', {timeout: 20000});
  await page.waitForSelector('tr.new .badge.created', {timeout: 20000});
  await page.waitForSelector('tr.new .badge.deleted', {timeout: 20000});
  expect(/Live: \d+ new change/.test(await page.textContent('[data-live]')), url + ': ' + await page.textContent('[data-live]'));
  expect(await page.$('tr.new b') === null, url + ': a URI has become an element');
  await page.context().close();
}`)
	close(stop)
	<-stopped
}
