import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from booking import Room


def room(*bookings):
    made = Room()
    for start, end in bookings:
        made.book(start, end)
    return made


class Booking(unittest.TestCase):
    def test_neighbours_are_joined_and_order_does_not_matter(self):
        self.assertEqual(room((12, 13), (9, 10), (10, 11)).busy(), [(9, 11), (12, 13)])

    def test_what_overlaps_or_makes_no_sense_is_refused_and_changes_nothing(self):
        taken = room((9, 11))
        for start, end in [(8, 10), (10, 12), (9, 11), (8, 12), (9.5, 10), (13, 13), (14, 12)]:
            with self.assertRaises(ValueError, msg=(start, end)):
                taken.book(start, end)
        self.assertEqual(taken.busy(), [(9, 11)])

    def test_cancelling_the_middle_keeps_both_ends(self):
        taken = room((9, 17))
        taken.cancel(12, 13)
        self.assertEqual(taken.busy(), [(9, 12), (13, 17)])

    def test_cancelling_across_several(self):
        taken = room((9, 11), (12, 14), (15, 18))
        taken.cancel(10, 16)
        self.assertEqual(taken.busy(), [(9, 10), (16, 18)])
        taken.cancel(0, 24)
        self.assertEqual(taken.busy(), [])

    def test_free_is_within_and_changes_nothing(self):
        taken = room((9, 11), (12, 14))
        for _ in range(2):
            self.assertEqual(taken.free(8, 16), [(8, 9), (11, 12), (14, 16)])
        self.assertEqual(taken.free(10, 13), [(11, 12)])
        self.assertEqual(taken.free(9, 11), [])
        self.assertEqual(taken.free(20, 22), [(20, 22)])
        self.assertEqual(taken.free(2, 4), [(2, 4)])
        self.assertEqual(taken.busy(), [(9, 11), (12, 14)])
        taken.book(11, 12)


if __name__ == "__main__":
    unittest.main()
