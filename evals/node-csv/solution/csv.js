"use strict";

function parse(text) {
  const rows = [];
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const row = [];
    for (;;) {
      const began = line;
      let field = "";
      if (text[at] === '"') {
        at += 1;
        for (;;) {
          if (at >= text.length) throw new Error(`line ${began}: a quote is not closed`);
          if (text[at] === '"' && text[at + 1] === '"') {
            field += '"';
            at += 2;
          } else if (text[at] === '"') {
            at += 1;
            break;
          } else {
            if (text[at] === "\n") line += 1;
            field += text[at];
            at += 1;
          }
        }
        if (at < text.length && text[at] !== "," && !ends(text, at)) {
          throw new Error(`line ${began}: something follows a closing quote`);
        }
      } else {
        while (at < text.length && text[at] !== "," && !ends(text, at)) {
          if (text[at] === '"') throw new Error(`line ${began}: a quote inside a field`);
          field += text[at];
          at += 1;
        }
      }
      row.push(field);
      if (text[at] !== ",") break;
      at += 1;
    }
    rows.push(row);
    at += ends(text, at);
    line += 1;
  }
  return rows;
}

// How many characters of a line end stand here.
function ends(text, at) {
  if (text[at] === "\n") return 1;
  return text[at] === "\r" && text[at + 1] === "\n" ? 2 : 0;
}

function stringify(rows) {
  const quoted = (field) => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);
  return rows.map((row) => row.map(quoted).join(",") + "\n").join("");
}

module.exports = { parse, stringify };
