"use strict";

function parse(text) {
  return text.split("\n").map((line) => line.split(","));
}

function stringify(rows) {
  return rows.map((row) => row.join(",")).join("\n");
}

module.exports = { parse, stringify };
