"use strict";

const NUMBER = "(?:0|[1-9][0-9]*)";
const WORD = `(?:${NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`;
const VERSION = new RegExp(
  `^(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})(?:-(${WORD}(?:\\.${WORD})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);

function read(version) {
  const found = typeof version === "string" ? VERSION.exec(version) : null;
  if (!found) throw new TypeError(`${version} is no version`);
  return { numbers: found.slice(1, 4).map(BigInt), words: found[4] === undefined ? null : found[4].split(".") };
}

const sign = (a, b) => (a === b ? 0 : a < b ? -1 : 1);

function words(a, b) {
  const numeric = [a, b].map((word) => /^[0-9]+$/.test(word));
  if (numeric[0] && numeric[1]) return sign(BigInt(a), BigInt(b));
  if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1;
  return sign(a, b);
}

function compare(a, b) {
  const [one, other] = [read(a), read(b)];
  for (let i = 0; i < 3; i += 1) {
    const order = sign(one.numbers[i], other.numbers[i]);
    if (order !== 0) return order;
  }
  if (!one.words || !other.words) return sign(one.words ? 0 : 1, other.words ? 0 : 1);
  for (let i = 0; i < Math.min(one.words.length, other.words.length); i += 1) {
    const order = words(one.words[i], other.words[i]);
    if (order !== 0) return order;
  }
  return sign(one.words.length, other.words.length);
}

function sort(versions) {
  return [...versions].sort(compare);
}

function latest(versions) {
  return sort(versions.filter((version) => read(version).words === null)).pop() ?? null;
}

module.exports = { compare, sort, latest };
