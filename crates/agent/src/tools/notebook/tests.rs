use serde_json::{Value, json};

use super::*;
use crate::tools::image::tests::png;

fn notebook(cells: Value) -> Notebook {
    read(json!({"nbformat": 4, "metadata": {}, "cells": cells}).to_string().as_bytes()).unwrap()
}

fn check(cells: Value, expected: &str) {
    assert_eq!(notebook(cells).text, expected);
}

#[test]
fn cells_come_with_what_they_put_out() {
    check(json!([]), "");
    check(
        json!([
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {"cell_type": "code", "source": "1 + 1", "execution_count": 3, "outputs": [
                {"output_type": "execute_result", "data": {"text/plain": ["2"], "text/html": "<b>2</b>"}}
            ]},
            {"cell_type": "code", "source": "print('x')\n", "execution_count": null, "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["x\n", "y\n"]}
            ]}
        ]),
        "[1 markdown]\n# Title\ntext\n\
         [2 code, run 3]\n1 + 1\n[2 output]\n2\n[also as text/html]\n\
         [3 code]\nprint('x')\n[3 output]\nx\ny\n",
    );
}

#[test]
fn errors_are_shown_without_colours() {
    let colourful = json!(["\u{1b}[0;31mValueError\u{1b}[0m: no\n", "at \u{1b}[1mline 1\u{1b}[22m"]);
    check(
        json!([{"cell_type": "code", "source": "f()", "outputs": [
            {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": colourful}
        ]}]),
        "[1 code]\nf()\n[1 output]\nValueError: no\nat line 1\n",
    );
    check(
        json!([{"source": "f()", "outputs": [{"ename": "E", "evalue": "v", "traceback": []}]}]),
        "[1 cell]\nf()\n[1 output]\nE: v\n",
    );
}

#[test]
fn odd_things_are_no_reason_to_fail() {
    check(json!([{}]), "[1 cell]\n");
    check(json!([{"source": {"a": 1}, "outputs": null, "cell_type": [["x"], 7]}]), "[1 x7]\n");
    check(json!([{"source": 1.5, "outputs": [{"data": null, "text": true}]}]), "[1 cell]\n1.5\n");
}

#[test]
fn the_third_format_is_read() {
    let sheets = json!({"worksheets": [{"cells": [
        {"cell_type": "code", "input": ["a"], "prompt_number": 1, "outputs": [{"text": "b"}]}
    ]}, {"cells": 7}]});
    assert_eq!(read(sheets.to_string().as_bytes()).unwrap().text, "[1 code, run 1]\na\n[1 output]\nb\n");
}

#[test]
fn what_is_no_notebook_is_refused() {
    for bytes in [&b""[..], b"{}", b"[]", b"{\"cells\": 1}", b"{\"cells\": []", b"{\"cells\": []} x", b"\xff"]
    {
        assert!(read(bytes).is_err(), "{bytes:?}");
    }
    assert!(read(b"\xef\xbb\xbf{\"cells\": []}").is_ok());
    // As deep as it likes: it is refused, not followed.
    let deep = format!("{{\"cells\": [{{\"source\": {}", "[".repeat(100_000));
    assert!(read(deep.as_bytes()).is_err());
}

#[test]
fn pictures_are_taken_out() {
    let encoded = Media::bytes(png(4, 5)).base64().unwrap() + "\n";
    let output =
        json!({"output_type": "display_data", "data": {"image/png": encoded, "text/plain": "<Figure>"}});
    let found = notebook(json!([{"cell_type": "code", "source": "plot()", "outputs": [output]}]));
    assert_eq!(found.pictures.len(), 1);
    assert_eq!(found.pictures[0].mime(), "image/png");
    assert!(found.text.contains("<Figure>\n[image/png, 4 x 5 pixels"), "{}", found.text);

    let many = notebook(json!([{"outputs": vec![output.clone(); PICTURES]}, {"outputs": vec![output; 5]}]));
    assert_eq!(many.pictures.len(), PICTURES);

    let broken = notebook(json!([{"outputs": [{"data": {"image/png": "!!"}}]}]));
    assert!(broken.pictures.is_empty() && broken.text.contains("it is broken"), "{}", broken.text);
    let large = notebook(json!([{"outputs": [{"data": {"image/png": "A".repeat(ENCODED + 1)}}]}]));
    assert!(large.pictures.is_empty() && large.text.contains("too large"), "{}", large.text);
}

#[test]
fn what_is_shown_is_bounded() {
    let long = "é\n".repeat(SOURCE);
    let found = notebook(json!([{"source": long, "outputs": [{"text": long}, {"text": "after"}]}]));
    assert!(found.text.len() < SOURCE + OUTPUT + 200);
    assert!(found.text.contains("more bytes are left out") && !found.text.contains("after"));

    let cells = vec![json!({"source": "x".repeat(1000)}); 2000];
    let found = notebook(json!(cells));
    assert!(found.text.len() <= MOST);
    assert_eq!((found.cells, found.left_out > 0), (2000, true));
}
