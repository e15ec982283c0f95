"""Functions that MkDocs calls while it builds the site (mkdocs.yml)."""

import logging
import re

import mmdr

log = logging.getLogger("mkdocs.hooks.site")  # a warning of this logger fails a strict build


def on_page_markdown(markdown, **_):
    """Draws diagrams. Material for MkDocs would load a program from the network to draw them."""
    return re.sub(r"(?ms)^```mermaid\n(.*?)^```$", lambda fence: f'<div class="diagram">{mmdr.render(fence[1]).svg()}</div>', markdown)


def on_page_content(html, page, **_):
    """Refuses a picture without alternative text."""
    for tag in re.findall(r"<img\b[^>]*>", html):
        if not re.search(r'\balt="[^"]', tag):
            log.warning("%s: a picture has no alternative text: %s", page.file.src_uri, tag)
