"""A cache that keeps what was used last."""

import time


class Cache:
    def __init__(self, size, max_age=None, clock=time.monotonic):
        if size < 1:
            raise ValueError("a cache has room for at least one entry")
        self.size = size
        self.max_age = max_age
        self.clock = clock
        self.entries = {}

    def _drop_old(self):
        if self.max_age is None:
            return
        oldest = self.clock() - self.max_age
        for key in [key for key, (_, put) in self.entries.items() if put <= oldest]:
            del self.entries[key]

    def get(self, key, default=None):
        """The value of a key, which then counts as used last."""
        self._drop_old()
        if key not in self.entries:
            return default
        entry = self.entries.pop(key)
        self.entries[key] = entry
        return entry[0]

    def put(self, key, value):
        """Keeps a value; whatever was not used for longest has to go if there are too many."""
        self._drop_old()
        self.entries.pop(key, None)
        self.entries[key] = (value, self.clock())
        while len(self.entries) > self.size:
            self.entries.pop(next(iter(self.entries)))

    def keys(self):
        self._drop_old()
        return list(self.entries)

    def __len__(self):
        self._drop_old()
        return len(self.entries)
