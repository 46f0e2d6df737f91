package browsertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/browsertest"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
)

// TestWP5_WP6_RS4_Topic opens the URLs of topics in a browser, which gets pages with the links of the
// topics in their headers, and requests them as a hub does.
func TestWP5_WP6_RS4_Topic(t *testing.T) {
	now := time.Now()
	_, site := start(t, rshttp.Options{}, rshttp.Set{Provider: set(t, "papers", 10, &now), RemoteHubs: []topic.RemoteHub{{URI: "http://127.0.0.1:1/hub"}}})
	browsertest.Run(t, fmt.Sprintf("const site = %q;", site)+`
for (const [channel, title] of [['change', 'Change Notifications'], ['framework', 'Framework Notifications']]) {
  const topic = site + '/resourcesync/' + channel + '/';
  const links = '<' + topic + '>; rel="self", <http://127.0.0.1:1/hub>; rel="hub"';
  const page = await open(topic);
  const opened = await page.goto(topic);
  expect(opened.status() === 200 && /^text\/html/.test(opened.headers()['content-type']), topic + ': ' + JSON.stringify(opened.headers()));
  expect((await page.textContent('h1')).includes(title), 'the page of ' + topic + ' has the title ' + await page.textContent('h1'));
  expect(await page.$('[rel=self], [rel=hub]') === null, 'the page of ' + topic + ' has links of the topic');
  const own = await page.goto(topic.slice(0, -1) + '.html');
  expect(own.status() === 200 && !own.headers()['link'], own.url() + ': ' + own.headers()['link']);
  for (const method of ['GET', 'HEAD']) {
    const answer = await page.context().request.fetch(topic, {method, headers: {Accept: '*/*'}});
    expect(answer.status() === 200 && answer.headers()['content-type'] === 'application/xml', method + ' ' + topic + ': ' + JSON.stringify(answer.headers()));
    for (const link of [opened.headers()['link'], answer.headers()['link']]) {
      for (const part of links.split(', ')) expect(link && link.includes(part), method + ' ' + topic + ': Link: ' + link);
    }
  }
  await page.context().close();
}
`)
}
