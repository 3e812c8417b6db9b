"""Names for pages."""

import re


def slug(title):
    """The title as a name: lower case, hyphens between words."""
    return re.sub(r"[^a-z0-9]", "-", title.lower())


class Slugs:
    """Gives every page a name of its own."""

    def __init__(self):
        self.counts = {}

    def add(self, title):
        """A name that was not given before."""
        name = slug(title)
        self.counts[name] = self.counts.get(name, 0) + 1
        if self.counts[name] == 1:
            return name
        return name + str(self.counts[name])
