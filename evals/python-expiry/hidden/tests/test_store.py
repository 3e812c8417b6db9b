import inspect
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from store import Cache


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Expiry(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()

    def cache(self, size=3, max_age=10):
        return Cache(size, max_age=max_age, clock=self.clock)

    def test_without_an_age_it_is_as_before(self):
        cache = Cache(2)
        cache.put("a", 1)
        cache.put("b", 2)
        self.assertEqual(cache.get("a"), 1)
        cache.put("c", 3)
        self.assertEqual((cache.keys(), len(cache), cache.get("b", "gone")), (["a", "c"], 2, "gone"))

    def test_the_age_counts_from_putting(self):
        cache = self.cache()
        cache.put("a", 1)
        self.clock.now += 9
        self.assertEqual(cache.get("a"), 1)
        self.clock.now += 1
        self.assertEqual(cache.get("a", "old"), "old")

    def test_putting_again_makes_young(self):
        cache = self.cache()
        cache.put("a", 1)
        self.clock.now += 9
        cache.put("a", 2)
        self.clock.now += 9
        self.assertEqual(cache.get("a"), 2)

    def test_the_old_are_not_seen(self):
        cache = self.cache()
        cache.put("a", 1)
        self.clock.now += 5
        cache.put("b", 2)
        self.clock.now += 5
        self.assertEqual((len(cache), cache.keys()), (1, ["b"]))

    def test_the_old_push_nobody_out(self):
        cache = self.cache(size=2)
        cache.put("old", 1)
        self.clock.now += 5
        cache.put("good", 2)
        cache.get("old")
        self.clock.now += 5
        cache.put("new", 3)
        self.assertEqual(cache.keys(), ["good", "new"])

    def test_none_is_a_value(self):
        cache = self.cache()
        cache.put("a", None)
        self.assertIsNone(cache.get("a", "default"))
        self.assertEqual(len(cache), 1)

    def test_sizes(self):
        for size in (0, -1):
            with self.assertRaises(ValueError):
                Cache(size)
        self.assertIn("clock", inspect.signature(Cache).parameters)


if __name__ == "__main__":
    unittest.main()
