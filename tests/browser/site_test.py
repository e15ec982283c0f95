"""build/site in headless Chromium, on a desk and on a phone: no complaint, nothing asked of a network, nothing cut off, no broken link.

    ./run docs && python3 tests/browser/site_test.py

With PICTURES=FOLDER it also takes a picture of each page outside the C++ reference, in light and dark.
"""

import html
import os
import pathlib
import re
import sys
import tempfile
import unittest
import urllib.parse

import chromium

SITE = pathlib.Path(__file__).resolve().parents[2] / "build/site"
PICTURES = os.environ.get("PICTURES")
DESK = (1280, 800)
FOUND = """({
  links: [...document.querySelectorAll('a[href], link[href], img[src], script[src], iframe[src]')].map(e => e.href || e.src),
  names: [...document.querySelectorAll('[id], a[name]')].flatMap(e => [e.id, e.name]),
  bare: [...document.images].filter(e => !e.hasAttribute('alt')).map(e => e.src),
})"""
# The test opens one of Doxygen's 700 pages for each kind, and follows the links of all.
OPENED = {"index.html", "annotated.html", "files.html", "namespacexgrad.html", "classxgrad_1_1Variable.html"}
OF_DOXYGEN = "nested-classes"  # linked by Doxygen 1.9.4 where a class has only private ones
TOO_WIDE = "document.documentElement.scrollWidth > innerWidth"


def address(link):
    """The file that a link leads to, and the place in it; None if it leads elsewhere."""
    parts = urllib.parse.urlsplit(link)
    return (pathlib.Path(urllib.parse.unquote(parts.path)), urllib.parse.unquote(parts.fragment)) if parts.scheme == "file" else None


def read(path):
    """What FOUND is in a browser, from the text of a page."""
    text = path.read_text()
    return {"links": [urllib.parse.urljoin(path.as_uri(), html.unescape(link)) for link in re.findall(r'<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]*)"', text)],
            "names": re.findall(r'\b(?:id|name)="([^"]*)"', text)}


def complaints(site):
    """What is wrong with the pages of a site."""
    pages = sorted(path for path in site.rglob("*.html") if path != site / "404.html")  # which a server shows at any address
    found = {path: read(path) for path in pages if path.parent == site / "cpp" and path.name not in OPENED}
    with chromium.Chromium() as browser:
        for path in sorted(set(pages) - set(found)):
            name = path.relative_to(site)
            browser.open(path.as_uri(), DESK)
            found[path] = browser.evaluate(FOUND)
            for size in (DESK, chromium.PHONE):
                browser.resize(size)
                if browser.evaluate(TOO_WIDE):
                    yield f"{name} is too wide at {size[0]} pixels"
            yield from (f"{name} says: {text}" for text in browser.complaints)
            yield from (f"{name} asks for {url}" for url in browser.requests if not url.startswith(("file:", "blob:", "chrome")))
            yield from (f"{name}: a picture has no alternative text: {source}" for source in found[path]["bare"])
    for path in pages:
        for link in sorted(set(found[path]["links"])):
            target, place = address(link) or (path, "")
            if not target.exists() or target.is_dir():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif place and target in found and place not in [*found[target]["names"], OF_DOXYGEN]:
                yield f"{path.relative_to(site)}: {link} names no place"


class Site(unittest.TestCase):
    def test_nothing_is_wrong(self):
        self.assertTrue((SITE / "index.html").exists(), "./run docs builds the site")
        self.assertEqual(list(complaints(SITE)), [])

    def test_search_needs_no_server(self):
        with chromium.Chromium() as browser:
            browser.open(f"{(SITE / 'index.html').as_uri()}?q=stochastic_depth", DESK)
            results = "[...document.querySelectorAll('.md-search-result__link')].map(e => e.getAttribute('href'))"
            browser.wait(f"{results}.length")
            self.assertTrue(any("reference/keys.html" in link for link in browser.evaluate(results)))

    def test_finds_what_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder)
            (site / "a.html").write_text("<a href='b.html#no'></a><a href='c.html'></a><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>")
            (site / "b.html").write_text("<script>console.error('no')</script><p style='width: 3000px'>wide</p><script src='http://127.0.0.1:9/x.js'></script>")
            text = "\n".join(complaints(site))
            for expected in ("b.html#no names no place", "c.html is not there", "a.html: a picture has no", "too wide at 390 pixels",
                             "too wide at 1280 pixels", "says: no", "asks for http://127.0.0.1:9/x.js"):
                self.assertIn(expected, text)


def take_pictures(folder):
    with chromium.Chromium() as browser:
        for path in sorted(path for path in SITE.rglob("*.html") if "cpp" not in path.parts):
            for size in (DESK, chromium.PHONE):
                for dark in (False, True):
                    browser.open(path.as_uri(), size, dark)
                    name = str(path.relative_to(SITE).with_suffix("")).replace("/", "-")
                    browser.picture(folder / f"{name}-{size[0]}{'-dark' * dark}.png")


if __name__ == "__main__":
    if chromium.PROGRAM is None:
        print("Chromium is not installed (apt-get install chromium)")
        sys.exit(77)
    if PICTURES:
        take_pictures(pathlib.Path(PICTURES))
    unittest.main()
