"""Rooms."""

from data import MEASURED
from units import Length

UNITS = {"m": Length.metres, "ft": Length.feet}


class Room:
    def __init__(self, width, depth, height):
        if not all(isinstance(side, Length) for side in (width, depth, height)):
            raise TypeError("a room is made of lengths")
        self.width = width
        self.depth = depth
        self.height = height

    def perimeter(self):
        """The way around it."""
        return (self.width + self.depth) * 2


def rooms():
    """The rooms that were measured, by name."""
    made = {}
    for name, width, depth, height, unit in MEASURED:
        of = UNITS[unit]
        made[name] = Room(of(width), of(depth), of(height))
    return made
