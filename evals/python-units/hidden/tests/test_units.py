import os
import subprocess
import sys
import unittest

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, HERE)
from plan import Room, rooms
from report import report
from units import Length


class Units(unittest.TestCase):
    def test_both_units(self):
        self.assertAlmostEqual(Length.feet(10).to_metres(), 3.048)
        self.assertAlmostEqual(Length.metres(3.048).to_feet(), 10)

    def test_arithmetic(self):
        one, two = Length.metres(1), Length.metres(2)
        for length, metres in [(one + two, 3), (two - one, 1), (two * 3, 6), (3 * two, 6), (two / 4, 0.5)]:
            self.assertIsInstance(length, Length)
            self.assertAlmostEqual(length.to_metres(), metres)

    def test_order_and_equality(self):
        self.assertTrue(Length.feet(3) < Length.metres(1) < Length.feet(4))
        self.assertTrue(Length.metres(1) <= Length.metres(1) and Length.metres(2) >= Length.metres(1))
        self.assertEqual(Length.metres(1), Length.metres(1.0))
        self.assertEqual(len({Length.metres(1), Length.metres(1.0)}), 1)
        self.assertNotEqual(Length.metres(1), 1)

    def test_nonsense(self):
        one = Length.metres(1)
        for nonsense in [lambda: one + 1, lambda: 1 + one, lambda: one - 1, lambda: one * one, lambda: 1 / one,
                         lambda: one < 1, lambda: one * "x"]:
            with self.assertRaises(TypeError):
                nonsense()

    def test_rooms_are_made_of_lengths(self):
        with self.assertRaises(TypeError):
            Room(1, 2, 3)
        with self.assertRaises(TypeError):
            Room(Length.metres(1), Length.metres(2), 3)
        self.assertAlmostEqual(rooms()["study"].perimeter().to_metres(), 44 * 0.3048)

    def test_the_report(self):
        lines = ["hall: 20.00 m around, 2.50 m high", "study: 13.41 m around, 2.44 m high",
                 "loft: 21.34 m around, 2.29 m high", "highest: hall"]
        self.assertEqual(report(rooms()), lines)
        ran = subprocess.run([sys.executable, "report.py"], cwd=HERE, capture_output=True, text=True)
        self.assertEqual(ran.stdout.splitlines(), lines, ran.stderr)


if __name__ == "__main__":
    unittest.main()
