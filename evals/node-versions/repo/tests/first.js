"use strict";
const assert = require("node:assert");
const { compare } = require("../versions.js");

assert.strictEqual(compare("1.9.0", "1.10.0"), -1);
console.log("ok");
