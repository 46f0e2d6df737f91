"""A Destination that makes the requests and calls of the reference client, one after another.

The reference client is not installed where the benchmarks run, so this program stands for it. It
sends the same requests, each over a connection of its own, and makes the same calls of the system
for each resource. It parses XML and times with the same libraries. It does less between them: it
has no options, mappings, state or report, and uses http.client itself, not through the library
requests, which takes twice the time. So it is not slower than the reference client.

usage: sequential.py baseline|audit SITE FOLDER [ALGORITHM]"""

import calendar
import hashlib
import http.client
import logging
import os
import re
import sys
import urllib.parse
import urllib.request

from dateutil import parser
from defusedxml import ElementTree

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
TERMS = "{http://www.openarchives.org/rs/terms/}"
FILE_BLOCK = 16 << 10
NETWORK_BLOCK = 1 << 10
HEADERS = {"User-Agent": "python", "Accept-Encoding": "gzip, deflate", "Accept": "*/*", "Connection": "keep-alive"}

log = logging.getLogger("mirror")
events = logging.getLogger("events")


class Resource:
    """What a list or a folder says about a resource."""

    __slots__ = ("uri", "modified", "length", "digests", "path")

    def __init__(self, uri, modified=None, length=None, digests=None, path=None):
        self.uri, self.modified, self.length, self.digests, self.path = uri, modified, length, digests or {}, path

    def shows(self, other):
        """Reports whether both describe the same version: by digests, otherwise by time and length."""
        common = self.digests.keys() & other.digests.keys()
        if common:
            return all(self.digests[name] == other.digests[name] for name in common)
        if self.modified is not None and other.modified is not None and int(self.modified) != int(other.modified):
            return False
        return self.length is None or other.length is None or self.length == other.length


W3C_DATETIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z$")


def seconds(text):
    """Returns the Unix time of a W3C datetime in UTC."""
    whole, fraction = W3C_DATETIME.match(text).groups()
    return calendar.timegm(parser.parse(whole + "Z").timetuple()) + float(fraction or 0)


def parse(uri):
    with urllib.request.urlopen(uri) as response:
        return ElementTree.parse(response).getroot()


def links(uri, tag):
    """Yields each capability of a document with its URI."""
    for entry in parse(uri).iter(SITEMAP + tag):
        md = entry.find(TERMS + "md")
        yield md.get("capability"), entry.findtext(SITEMAP + "loc")


def discover(site):
    """Returns the URI of the Resource List."""
    description = urllib.parse.urljoin(site, "/.well-known/resourcesync")
    for capability, uri in links(description, "url"):
        if capability == "capabilitylist":
            return next(at for name, at in links(uri, "url") if name == "resourcelist")
    sys.exit("no Capability List")


def listed(uri):
    """Yields the resources of a Resource List or an index of them."""
    root = parse(uri)
    for part in root.iter(SITEMAP + "sitemap"):
        yield from listed(part.findtext(SITEMAP + "loc"))
    for entry in root.iter(SITEMAP + "url"):
        resource = Resource(entry.findtext(SITEMAP + "loc"))
        if modified := entry.findtext(SITEMAP + "lastmod"):
            resource.modified = seconds(modified)
        md = entry.find(TERMS + "md")
        if md is not None:
            resource.length = int(md.get("length")) if md.get("length") else None
            resource.digests = dict(digest.split(":", 1) for digest in md.get("hash", "").split())
        yield resource


def digest(path, algorithm):
    """Returns the digests of a file, by the name of the algorithm."""
    if not algorithm:
        return {}
    sum = hashlib.new(algorithm.replace("-", ""))
    with open(path, "rb") as file:
        while block := file.read(FILE_BLOCK):
            sum.update(block)
    return {algorithm: sum.hexdigest()}


def copied(site, folder, algorithm):
    """Yields the resources of the copy."""
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if not os.path.isfile(path) or os.path.islink(path):
                continue
            uri = site + path[len(folder) + 1:]
            info = os.stat(path)
            yield Resource(uri, info.st_mtime, info.st_size, digest(path, algorithm), path)


def compare(source, copy):
    """Returns what is created, updated and deleted, from two lists in the order of their URIs."""
    created, updated, deleted = [], [], []
    wanted, had = iter(sorted(source)), iter(sorted(copy))
    a, b = next(wanted, None), next(had, None)
    while a is not None or b is not None:
        if b is None or a is not None and a < b:
            created.append(source[a])
            a = next(wanted, None)
        elif a is None or b < a:
            deleted.append(copy[b])
            b = next(had, None)
        else:
            if not source[a].shows(copy[b]):
                updated.append(source[a])
            a, b = next(wanted, None), next(had, None)
    return created, updated, deleted


def fetch(resource, site, folder, algorithm):
    """Copies a resource and verifies the copy."""
    path = os.path.join(folder, resource.uri[len(site):])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    parts = urllib.parse.urlsplit(resource.uri)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    connection.request("GET", parts.path, headers=HEADERS)
    response = connection.getresponse()
    if response.status != 200:
        sys.exit(f"{resource.uri} answered {response.status}")
    with open(path, "wb") as file:
        while block := response.read(NETWORK_BLOCK):
            file.write(block)
    connection.close()
    os.utime(path, (resource.modified, resource.modified))
    length = os.stat(path).st_size
    if resource.length not in (None, length) or not resource.shows(Resource(resource.uri, resource.modified, length, digest(path, algorithm))):
        log.error("%s differs from its entry", resource.uri)
    log.info("copied %s to %s", resource.uri, path)
    events.info("%s created %d", resource.uri, length)


def main(mode, site, folder, algorithm=None):
    source = {resource.uri: resource for resource in listed(discover(site))}
    copy = {resource.uri: resource for resource in copied(site, folder, algorithm)}
    created, updated, deleted = compare(source, copy)
    if mode == "audit":
        if created or updated or deleted:
            sys.exit(f"{len(created)} missing, {len(updated)} differ, {len(deleted)} extra")
        return
    authority = urllib.parse.urlparse(site).netloc
    for uri in source:
        if urllib.parse.urlparse(uri).netloc != authority:
            sys.exit(f"{uri} is on another host")
    for resource in created + updated:
        fetch(resource, site, folder, algorithm)


main(*sys.argv[1:])
