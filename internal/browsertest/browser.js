// Runs a script against a Chromium; see Run in browsertest.go.
const {chromium} = require('playwright-core');
const axe = require('fs').readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const fs = require('fs'), path = require('path');
const folder = process.env.SCREENSHOTS;

const looks = {
  light: {colorScheme: 'light', viewport: {width: 1200, height: 800}},
  dark: {colorScheme: 'dark', viewport: {width: 1200, height: 800}},
  phone: {colorScheme: 'light', viewport: {width: 390, height: 844}, deviceScaleFactor: 2},
};
let browser, failed = false;

const fail = text => { failed = true; console.log('FAIL ' + text); };
const expect = (condition, text) => { if (!condition) fail(text); };

// open opens a page in a look, and reports what it writes to its console and what it
// requests from other hosts.
async function open(url, look = 'light', options = {}) {
  const context = await browser.newContext({...looks[look], ...options});
  const page = await context.newPage();
  page.on('console', m => { if (['error', 'warning'].includes(m.type()) && !/status of 4/.test(m.text())) fail(`${page.url()}: ${m.text()}`); });
  page.on('pageerror', e => fail(`${page.url()}: ${e.message}`));
  page.on('request', r => { if (!r.isNavigationRequest() && !/^data:/.test(r.url()) && new URL(r.url()).host !== new URL(url).host) fail(`${page.url()} requests ${r.url()}`); });
  await page.goto(url, {waitUntil: 'load'});
  return page;
}

// brokenWords returns the words on more than one line. Those of URIs may break anywhere, and so
// may words of more than 75 characters, or of more than 30 in errors and findings.
function brokenWords() {
  const broken = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest('.uri, pre, script, style, .hidden')) continue;
    const max = node.parentElement.closest('.text') ? 30 : 75;
    for (const m of node.data.matchAll(/(?<![^\s-])[^\s/-]+/gu)) { // not what is behind a slash; a hyphen ends a word
      if (m[0].length > max) continue;
      if (/:$/.test(m[0]) && node.data.startsWith('//', m.index + m[0].length)) continue;
      range.setStart(node, m.index);
      range.setEnd(node, m.index + m[0].length);
      if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) broken.push(m[0]);
    }
  }
  return broken;
}

// wideTables returns the headings of the tables that do not fit into their frames.
function wideTables() {
  return [...document.querySelectorAll('.table')].filter(t => t.scrollWidth > t.clientWidth).map(t => t.querySelector('tr').innerText.replace(/\s+/g, ' '));
}

// check checks pages in every look.
async function check(pages) {
  fs.mkdirSync(folder, {recursive: true});
  for (const look in looks) {
    const page = await open(pages[0].url, look);
    for (const {name, url} of pages) {
      const response = await page.goto(url, {waitUntil: 'load'});
      const size = (await response.body()).length;
      expect(size < 100000, `${name}: ${size} bytes`);
      expect(/^text\/html/.test(response.headers()['content-type']), `${name}: ${response.headers()['content-type']}`);
      await page.evaluate(axe); // the debugger's scripts are not subject to the policy of the page
      const found = await page.evaluate(() => axe.run(document, {resultTypes: ['violations']}));
      for (const v of found.violations) fail(`${name}, ${look}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' | ')}`);
      if (look === 'phone') {
        for (const word of await page.evaluate(brokenWords)) fail(`${name}: the word ${word} breaks in the middle`);
      }
      if (look !== 'phone') { // on a phone, tables scroll
        for (const heading of await page.evaluate(wideTables)) fail(`${name}, ${look}: the table ${heading} is too wide`);
      }
      const [width, height] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]);
      const seen = looks[look].viewport.width;
      expect(width <= seen, `${name}, ${look}: ${width} pixels wide on a screen of ${seen}`);
      await page.screenshot({path: path.join(folder, `${name}-${look}.png`), fullPage: true, clip: {x: 0, y: 0, width: seen, height: Math.min(height, 2400)}});
    }
    await page.context().close();
  }
}

(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  try {
    /* script */
  } finally {
    await browser.close();
  }
  process.exit(failed ? 1 : 0);
})().catch(e => { console.log(e); process.exit(1); });
