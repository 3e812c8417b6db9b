"""Which hours of a room are taken."""


class Room:
    def __init__(self):
        self.taken = []

    def book(self, start, end):
        """Takes [start, end)."""
        if start >= end:
            raise ValueError("empty")
        for a, b in self.taken:
            if start < b and a < end:
                raise ValueError("taken")
        self.taken.append((start, end))

    def cancel(self, start, end):
        """Frees whatever is taken of [start, end)."""
        left = []
        for a, b in self.taken:
            if b <= start or end <= a:
                left.append((a, b))
                continue
            if a < start:
                left.append((a, start))
            if end < b:
                left.append((end, b))
        self.taken = left

    def busy(self):
        """What is taken, in order."""
        joined = []
        for a, b in sorted(self.taken):
            if joined and joined[-1][1] == a:
                joined[-1] = (joined[-1][0], b)
            else:
                joined.append((a, b))
        return joined

    def free(self, start, end):
        """What is free within [start, end), in order."""
        free = []
        at = start
        for a, b in sorted(self.taken):
            if b <= start or end <= a:
                continue
            if at < a:
                free.append((at, a))
            at = max(at, b)
        if at < end:
            free.append((at, end))
        return free
