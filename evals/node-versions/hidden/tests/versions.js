"use strict";
const assert = require("node:assert");
const { compare, sort, latest } = require("../versions.js");

const order = [
  "0.0.1", "0.1.0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-A", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
  "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0-x-y", "1.0.0", "1.0.1", "1.9.0", "1.10.0",
  "2.0.0-0", "2.0.0", "9007199254740992.0.0", "9007199254740993.0.0",
];
for (let i = 0; i < order.length; i += 1) {
  for (let j = 0; j < order.length; j += 1) {
    assert.strictEqual(compare(order[i], order[j]), Math.sign(i - j), `${order[i]} and ${order[j]}`);
  }
}
assert.strictEqual(compare("1.0.0+a", "1.0.0+b.01"), 0);
assert.strictEqual(compare("1.0.0-rc.1+5", "1.0.0-rc.1"), 0);

const given = ["1.0.0+b", "2.0.0", "1.0.0+a", "1.0.0-rc.1"];
const copy = [...given];
assert.deepStrictEqual(sort(given), ["1.0.0-rc.1", "1.0.0+b", "1.0.0+a", "2.0.0"]);
assert.deepStrictEqual(given, copy);
assert.strictEqual(latest(["1.0.0", "2.0.0-rc.1", "1.2.0"]), "1.2.0");
assert.strictEqual(latest(["1.0.0-rc.1"]), null);
assert.strictEqual(latest([]), null);

for (const bad of ["", "1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0-01", "1.0.0-", "1.0.0-a..b", "1.0.0+", "1.0.0-\u00e4", " 1.0.0", null, 1]) {
  assert.throws(() => compare(bad, "1.0.0"), TypeError, String(bad));
  assert.throws(() => latest([bad]), TypeError, String(bad));
}
console.log("ok");
