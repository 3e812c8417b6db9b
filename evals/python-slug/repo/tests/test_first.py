import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from slugs import Slugs, slug


class First(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slug("Hello,  World!"), "hello-world")

    def test_second(self):
        slugs = Slugs()
        self.assertEqual([slugs.add("Home"), slugs.add("home")], ["home", "home-2"])


if __name__ == "__main__":
    unittest.main()
