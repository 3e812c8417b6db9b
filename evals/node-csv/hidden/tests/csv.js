"use strict";
const assert = require("node:assert");
const { parse, stringify } = require("../csv.js");

for (const [text, rows] of [
  ["", []],
  ["a,b\n1,2\n", [["a", "b"], ["1", "2"]]],
  ["a,b\r\n1,2", [["a", "b"], ["1", "2"]]],
  ['"a,b",c', [["a,b", "c"]]],
  ['"x ""y"" z"\n', [['x "y" z']]],
  ['"two\nlines",z\n', [["two\nlines", "z"]]],
  ["a,\n", [["a", ""]]],
  [",", [["", ""]]],
  ["a\n\nb\n", [["a"], [""], ["b"]]],
  ['""', [[""]]],
  ['"",""\r\n"\r\n"', [["", ""], ["\r\n"]]],
  ["\n", [[""]]],
  [" a , b ", [[" a ", " b "]]],
]) {
  assert.deepStrictEqual(parse(text), rows, JSON.stringify(text));
}

for (const [text, line] of [
  ['"open', 1],
  ['a\nb"c', 2],
  ['a\n"x" y,z', 2],
  ['"two\nlines"!', 1],
  ['a\r\n\r\nb,"', 3],
]) {
  assert.throws(() => parse(text), (error) => error instanceof Error && new RegExp("\\b" + line + "\\b").test(error.message), JSON.stringify(text));
}

for (const rows of [
  [],
  [[""]],
  [["a", "b"], ["", ""]],
  [['"', ",", "\n", "\r", "\r\n", "plain", " "]],
  [["a"], [""], ["b"]],
]) {
  assert.deepStrictEqual(parse(stringify(rows)), rows, JSON.stringify(rows));
}
assert.strictEqual(stringify([["a", "b c"], ["x,y", 'q"']]), 'a,b c\n"x,y","q"""\n');
console.log("ok");
