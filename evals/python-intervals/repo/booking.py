"""Which hours of a room are taken."""


class Room:
    def __init__(self):
        self.taken = []

    def book(self, start, end):
        """Takes [start, end)."""
        for a, b in self.taken:
            if start <= b and a <= end:
                raise ValueError("taken")
        self.taken.append((start, end))

    def cancel(self, start, end):
        """Frees whatever is taken of [start, end)."""
        left = []
        for a, b in self.taken:
            if b <= start or end <= a:
                left.append((a, b))
            elif a < start:
                left.append((a, start))
            elif end < b:
                left.append((end, b))
        self.taken = left

    def busy(self):
        """What is taken, in order."""
        return sorted(self.taken)

    def free(self, start, end):
        """What is free within [start, end), in order."""
        taken = self.taken
        taken.sort()
        taken.append((end, end))
        free = []
        at = start
        for a, b in taken:
            if at < a:
                free.append((at, a))
            at = b
        return free
