"""A cache that keeps what was used last."""


class Cache:
    def __init__(self, size):
        self.size = size
        self.entries = {}

    def get(self, key, default=None):
        """The value of a key, which then counts as used last."""
        if key not in self.entries:
            return default
        value = self.entries.pop(key)
        self.entries[key] = value
        return value

    def put(self, key, value):
        """Keeps a value; whatever was not used for longest has to go if there are too many."""
        self.entries.pop(key, None)
        self.entries[key] = value
        while len(self.entries) > self.size:
            self.entries.pop(next(iter(self.entries)))

    def keys(self):
        return list(self.entries)

    def __len__(self):
        return len(self.entries)
