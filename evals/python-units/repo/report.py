"""What the rooms need."""

from plan import rooms


def report(rooms):
    """A line for each room, by name: its name, the way around it in metres and its height in metres, both with two
    digits after the point, as in "hall: 20.00 m around, 2.50 m high". The last line names the highest room:
    "highest: NAME"."""
    lines = [f"{name}: {room.perimeter():.2f} m around, {room.height:.2f} m high" for name, room in rooms.items()]
    highest = max(rooms, key=lambda name: rooms[name].height)
    return lines + [f"highest: {highest}"]


if __name__ == "__main__":
    print("\n".join(report(rooms())))
