"use strict";
const assert = require("node:assert");
const { parse, stringify } = require("../csv.js");

assert.deepStrictEqual(parse('"a,b",c\n'), [["a,b", "c"]]);
assert.strictEqual(stringify([["a", "b"]]), "a,b\n");
console.log("ok");
