import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from store import Cache


class First(unittest.TestCase):
    def test_what_is_too_old_is_gone(self):
        now = [0.0]
        cache = Cache(2, max_age=10, clock=lambda: now[0])
        cache.put("a", 1)
        now[0] = 9.0
        self.assertEqual(cache.get("a"), 1)
        now[0] = 10.0
        self.assertIsNone(cache.get("a"))


if __name__ == "__main__":
    unittest.main()
