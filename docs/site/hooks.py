"""What MkDocs calls while it builds the site (mkdocs.yml)."""

import logging
import re

log = logging.getLogger("mkdocs.hooks.site")  # its warnings end a strict build


def on_page_content(html, page, **_):
    """Refuses a picture without alternative text."""
    for tag in re.findall(r"<img\b[^>]*>", html):
        if not re.search(r'\balt="[^"]', tag):
            log.warning("%s: a picture has no alternative text: %s", page.file.src_uri, tag)
