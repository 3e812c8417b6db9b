"use strict";

function compare(a, b) {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function sort(versions) {
  return versions.sort(compare);
}

function latest(versions) {
  return sort(versions).pop();
}

module.exports = { compare, sort, latest };
