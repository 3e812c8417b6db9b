import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from booking import Room


class First(unittest.TestCase):
    def test_neighbours(self):
        room = Room()
        room.book(9, 10)
        room.book(10, 11)
        self.assertEqual(room.busy(), [(9, 11)])


if __name__ == "__main__":
    unittest.main()
