"""Names for pages."""

import re
import unicodedata


def slug(title):
    """The title as a name: lower case, hyphens between words."""
    text = title.lower().replace("\u00df", "ss").replace("&", " and ")
    text = text.replace("'", "").replace("\u2019", "")
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-") or "page"


class Slugs:
    """Gives every page a name of its own."""

    def __init__(self):
        self.given = set()
        self.counts = {}

    def add(self, title):
        """A name that was not given before."""
        base = slug(title)
        name = base
        count = self.counts.get(base, 1)
        while name in self.given:
            count += 1
            name = f"{base}-{count}"
        self.counts[base] = count
        self.given.add(name)
        return name
