"""A sequential Destination: it requests one resource after another, as the reference client
does, and nothing else. usage: sequential.py baseline|audit SITE FOLDER"""

import hashlib
import os
import sys
import urllib.request
import xml.etree.ElementTree as ElementTree

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
TERMS = "{http://www.openarchives.org/rs/terms/}"


def entries(uri):
    """Yields the URI, length and SHA-256 of each resource of a Resource List or an index."""
    with urllib.request.urlopen(uri) as response:
        root = ElementTree.parse(response).getroot()
    for part in root.iter(SITEMAP + "sitemap"):
        yield from entries(part.find(SITEMAP + "loc").text)
    for url in root.iter(SITEMAP + "url"):
        md = url.find(TERMS + "md")
        digests = dict(h.split(":", 1) for h in md.get("hash").split())
        yield url.find(SITEMAP + "loc").text, int(md.get("length")), digests["sha-256"]


def same(path, length, digest):
    """Reports whether a file has a length and a digest."""
    if os.stat(path).st_size != length:
        return False
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest() == digest


def main(mode, site, folder):
    differences = 0
    for uri, length, digest in entries(site + "resourcesync/resourcelist.xml"):
        path = os.path.join(folder, uri[len(site):])
        if mode == "baseline":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with urllib.request.urlopen(uri) as response, open(path, "wb") as file:
                file.write(response.read())
        differences += not same(path, length, digest)
    if differences:
        sys.exit(f"{differences} resources differ")


main(*sys.argv[1:])
