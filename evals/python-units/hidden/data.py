"""What was measured, and in what."""

MEASURED = [
    # name, width, depth, height, unit
    ("hall", 6.0, 4.0, 2.5, "m"),
    ("study", 10.0, 12.0, 8.0, "ft"),
    ("loft", 20.0, 15.0, 7.5, "ft"),
]
