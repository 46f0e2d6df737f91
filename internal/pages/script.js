// Shows new changes live: rows at the top of tables, from the notifications of WebSockets.
// Pages are complete without it.
(() => {
  'use strict';
  const status = document.querySelector('[data-live]');
  const rows = document.querySelector('[data-changes]');
  if (!status || !rows || !window.WebSocket) return;
  const limit = Number(rows.dataset.changes);
  const terms = 'http://www.openarchives.org/rs/terms/';
  const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
  const sockets = status.dataset.live.split(' ');
  let shown = 0, open = 0;

  const element = (name, text, attributes) => {
    const e = document.createElement(name);
    if (text) e.textContent = text;
    for (const a in attributes) e.setAttribute(a, attributes[a]);
    return e;
  };
  const two = n => String(n).padStart(2, '0');
  const time = s => {
    const d = new Date(s);
    return isNaN(d) ? s : `${d.getUTCDate()} ${months[d.getUTCMonth()]} ${d.getUTCFullYear()}, ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} UTC`;
  };
  const cell = (child, type) => {
    const td = element('td', '', type ? {class: type} : {});
    td.append(child);
    return td;
  };
  const readable = uri => {
    let text = uri.startsWith(location.origin + '/') ? uri.slice(location.origin.length) : uri;
    try { text = decodeURI(text); } catch { /* as it is */ }
    return text.length > 160 ? text.slice(0, 106) + '…' + text.slice(-53) : text;
  };
  const add = url => {
    const loc = url.getElementsByTagName('loc')[0], md = url.getElementsByTagNameNS(terms, 'md')[0];
    if (!loc || !md || !/^https?:/.test(loc.textContent.trim())) return;
    const uri = loc.textContent.trim(), change = md.getAttribute('change'), datetime = md.getAttribute('datetime') || '';
    if (!['created', 'updated', 'deleted'].includes(change)) return;
    const tr = element('tr', '', {class: 'new'});
    tr.append(
      cell(element('time', time(datetime), {datetime}), 'fit'),
      cell(element('span', change, {class: 'badge ' + change}), 'fit'),
      cell(element('a', readable(uri), {href: uri, rel: 'nofollow'}), 'uri'));
    for (const th of [...rows.parentElement.querySelectorAll('thead th')].slice(3)) tr.append(cell('', th.className));
    rows.prepend(tr);
    while (rows.children.length > limit) rows.lastElementChild.remove();
    rows.parentElement.parentElement.querySelector('.empty')?.remove();
    shown++;
  };
  const say = () => {
    status.hidden = open < sockets.length; // changes of a set would be missing
    status.textContent = shown ? `Live: ${shown} new change${shown === 1 ? '' : 's'}` : 'Live';
  };
  const connect = (url, wait) => {
    const socket = new WebSocket(url);
    let opened = false;
    socket.onopen = () => { opened = true; open++; say(); };
    socket.onmessage = event => {
      const doc = new DOMParser().parseFromString(event.data, 'application/xml');
      if (doc.getElementsByTagName('parsererror').length) return;
      for (const url of [...doc.getElementsByTagName('url')].slice(-limit)) add(url);
      say();
    };
    socket.onclose = () => {
      if (opened) { open--; wait = 1000; }
      say();
      setTimeout(() => connect(url, Math.min(wait * 2, 60000)), wait);
    };
  };
  for (const url of sockets) connect(url, 1000);
})();
