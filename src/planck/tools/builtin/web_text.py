"""HTML -> text for a model: what a reader would see, with the addresses of links."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "head"})
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figure"),
        *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol"),
        *("p", "pre", "section", "table", "tr", "ul"),
    }
)
_MOST_DEPTH = 2_000
"""Hidden elements inside each other that are counted."""


def read_html(text: str, url: str) -> str:
    """Whatever is no HTML comes out as some text too: nothing here raises for a page."""
    reader = _Reader(url)
    reader.feed(text)
    reader.close()
    lines = (re.sub(r"[ \t\f\v\xa0]+", " ", line).strip() for line in "".join(reader.out).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self._url = url
        self._hidden: list[str] = []
        self._links: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag in _HIDDEN:
            if len(self._hidden) < _MOST_DEPTH:
                self._hidden.append(tag)
        elif tag in ("body", "main") and self._hidden[:1] == ["head"]:
            self._hidden.clear()  # a head that nobody ended
        if self._hidden:
            return
        if tag in _BLOCKS:
            self.out.append("\n- " if tag == "li" else "\n")
        elif tag in ("td", "th"):
            self.out.append(" | ")
        elif tag == "a":
            href = dict(attrs).get("href") or ""
            self._links.append("" if href.startswith(("#", "javascript:")) else href)
            self.out.append("[" if self._links[-1] else "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
            self.out.append("\n\n")
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif self._hidden:
            return
        elif tag in _BLOCKS:
            self.out.append("\n")
        elif tag == "a" and self._links and (href := self._links.pop()):
            self.out.append(f"]({self._join(href)})")

    def handle_data(self, data: str) -> None:
        if self._in_title or not self._hidden:
            self.out.append(data)

    def _join(self, href: str) -> str:
        try:
            return urljoin(self._url, href)
        except ValueError:
            return href
