import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from plan import rooms
from report import report


class First(unittest.TestCase):
    def test_feet_are_no_metres(self):
        self.assertEqual(report(rooms())[1], "study: 13.41 m around, 2.44 m high")


if __name__ == "__main__":
    unittest.main()
