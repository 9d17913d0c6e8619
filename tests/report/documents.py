"""Read a page back: a strict little parser that every page must satisfy."""

import re
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "wbr"}


class Document(HTMLParser):
    """Elements in order, with a check that every tag that opens also closes."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "wbr":  # where a line may break within a word
            tag, text = self.texts.pop()
            self.texts.append((tag, text + data.strip()))
        elif data.strip():
            self.texts.append((self._open[-1] if self._open else "", data.strip()))

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    def text_of(self, name: str) -> list[str]:
        return [text for tag, text in self.texts if tag == name]

    @property
    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.elements if "id" in attributes]

    @property
    def references(self) -> set[str]:
        """Ids that something on the page points at."""
        found: set[str] = set()
        for _, attributes in self.elements:
            for name, value in attributes.items():
                found |= set(re.findall(r"url\(#([^)]*)\)", value or ""))
                if name in ("aria-labelledby", "aria-controls", "for"):
                    found.add(value or "")
                if name == "href" and (value or "").startswith("#"):
                    found.add((value or "")[1:])
        return found
