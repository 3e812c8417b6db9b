"""Lengths."""

from functools import total_ordering
from numbers import Real

FOOT = 0.3048


@total_ordering
class Length:
    """A length, whatever it was measured in."""

    __slots__ = ("_metres",)

    def __init__(self, metres):
        self._metres = float(metres)

    @classmethod
    def metres(cls, x):
        return cls(x)

    @classmethod
    def feet(cls, x):
        return cls(x * FOOT)

    def to_metres(self):
        return self._metres

    def to_feet(self):
        return self._metres / FOOT

    def __add__(self, other):
        return Length(self._metres + other._metres) if isinstance(other, Length) else NotImplemented

    def __sub__(self, other):
        return Length(self._metres - other._metres) if isinstance(other, Length) else NotImplemented

    def __mul__(self, times):
        return Length(self._metres * times) if isinstance(times, Real) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, parts):
        return Length(self._metres / parts) if isinstance(parts, Real) else NotImplemented

    def __eq__(self, other):
        return self._metres == other._metres if isinstance(other, Length) else NotImplemented

    def __lt__(self, other):
        return self._metres < other._metres if isinstance(other, Length) else NotImplemented

    def __hash__(self):
        return hash(self._metres)

    def __repr__(self):
        return f"Length.metres({self._metres})"
