import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from slugs import Slugs, slug


class Names(unittest.TestCase):
    def test_titles(self):
        for title, name in [
            ("Hello,  World!", "hello-world"),
            ("--- Spaced out ---", "spaced-out"),
            ("Caf\u00e9 & Cr\u00e8me", "cafe-and-creme"),
            ("Stra\u00dfe 12b", "strasse-12b"),
            ("Don't \u2019stop", "dont-stop"),
            ("A&B", "a-and-b"),
            ("\u6771\u4eac", "page"),
            ("", "page"),
            ("!!!", "page"),
            ("Ru\u0301n", "run"),
            ("C++/CLI_2", "c-cli-2"),
        ]:
            self.assertEqual(slug(title), name, title)

    def test_no_name_is_given_twice(self):
        slugs = Slugs()
        titles = ["Home", "home", "HOME!", "home 2", "", "?"]
        self.assertEqual([slugs.add(t) for t in titles], ["home", "home-2", "home-3", "home-2-2", "page", "page-2"])

    def test_a_number_that_is_taken_is_skipped(self):
        slugs = Slugs()
        given = [slugs.add(t) for t in ["a 2", "a", "a", "a"]]
        self.assertEqual(given, ["a-2", "a", "a-3", "a-4"])

    def test_two_books_do_not_know_each_other(self):
        one, other = Slugs(), Slugs()
        self.assertEqual((one.add("x"), other.add("x")), ("x", "x"))


if __name__ == "__main__":
    unittest.main()
