//! Notebooks (`.ipynb`) as text: the cells with what they put out.
//!
//! A pure function from the bytes of a file. Cells are rendered as they are parsed, so that what is
//! held beside the file is bounded, whatever the file says.

mod text;

use std::fmt::{self, Write as _};

use junto_llm::{Media, MediaSource};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use self::text::{Text, plain};
use super::image;

/// How many bytes of text a notebook becomes at most.
pub const MOST: usize = 1024 * 1024;
/// How many pictures are taken out of a notebook at most.
pub const PICTURES: usize = 8;
/// How many bytes of a cell's source are shown.
const SOURCE: usize = 64 * 1024;
/// How many bytes are shown of what a cell put out.
const OUTPUT: usize = 8 * 1024;
/// How many bytes of base64 are taken for a picture.
const ENCODED: usize = 5 * 1024 * 1024;
/// How many bytes of anything that is a name.
const NAME: usize = 200;

/// A notebook as a model can read it.
#[derive(Debug, Default, PartialEq)]
pub struct Notebook {
    /// The cells, each under a heading with its number, with the text that it put out. At most
    /// [`MOST`] bytes.
    pub text: String,
    /// The pictures that cells put out, in their order; the text says where. At most [`PICTURES`].
    pub pictures: Vec<Media>,
    /// How many cells there are.
    pub cells: usize,
    /// How many of them did not fit.
    pub left_out: usize,
}

/// Reads a notebook of format 3 or 4.
///
/// # Errors
/// If it is none: what is wrong, for people.
pub fn read(bytes: &[u8]) -> Result<Notebook, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let File { cells, worksheets } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let first = worksheets.and_then(|Worksheets(first)| first).and_then(|sheet| sheet.cells);
    cells.or(first).map(|Cells(notebook)| notebook).ok_or_else(|| "it has no cells".to_owned())
}

#[derive(Deserialize)]
struct File {
    cells: Option<Cells>,
    /// Where format 3 has the cells.
    worksheets: Option<Worksheets>,
}

/// The first sheet; there was never a program that made more.
struct Worksheets(Option<Worksheet>);

#[derive(Deserialize)]
struct Worksheet {
    cells: Option<Cells>,
}

impl<'de> Deserialize<'de> for Worksheets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Sheets;
        impl<'de> Visitor<'de> for Sheets {
            type Value = Worksheets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of worksheets")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sheets: A) -> Result<Worksheets, A::Error> {
                let first = sheets.next_element()?;
                while sheets.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Worksheets(first))
            }
        }
        from.deserialize_seq(Sheets)
    }
}

#[derive(Deserialize)]
struct Cell {
    #[serde(default, rename = "cell_type")]
    kind: Text<NAME>,
    #[serde(default, alias = "input")]
    source: Text<SOURCE>,
    #[serde(default, alias = "prompt_number")]
    execution_count: Text<NAME>,
    #[serde(default)]
    outputs: Outputs,
}

/// The cells, rendered.
struct Cells(Notebook);

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Cells;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of cells")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Cells, A::Error> {
                let mut notebook = Notebook::default();
                while notebook.left_out == 0 {
                    let Some(cell) = cells.next_element::<Cell>()? else { return Ok(Cells(notebook)) };
                    notebook.push(cell);
                }
                while cells.next_element::<IgnoredAny>()?.is_some() {
                    notebook.cells += 1;
                    notebook.left_out += 1;
                }
                Ok(Cells(notebook))
            }
        }
        from.deserialize_seq(All)
    }
}

impl Notebook {
    /// Adds a cell, if there is room for it.
    fn push(&mut self, cell: Cell) {
        self.cells += 1;
        let kind = if cell.kind.is_empty() { "cell" } else { cell.kind.as_str() };
        let mut rendered = format!("[{} {kind}", self.cells);
        if !cell.execution_count.is_empty() {
            let _ = write!(rendered, ", run {}", cell.execution_count.as_str());
        }
        rendered.push_str("]\n");
        add_lines(&mut rendered, &cell.source.into_shown());
        let Outputs { text, mut pictures } = cell.outputs;
        if !text.is_empty() {
            let _ = writeln!(rendered, "[{} output]", self.cells);
            add_lines(&mut rendered, &text.into_shown());
        }
        pictures.truncate(PICTURES.saturating_sub(self.pictures.len()));
        if self.text.len() + rendered.len() > MOST {
            self.left_out += 1;
            return;
        }
        self.text += &rendered;
        self.pictures.append(&mut pictures);
    }
}

/// Adds text that ends with its line.
fn add_lines(to: &mut String, text: &str) {
    to.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        to.push('\n');
    }
}

/// What a cell put out, rendered.
#[derive(Default)]
struct Outputs {
    text: Text<OUTPUT>,
    pictures: Vec<Media>,
}

/// One thing that a cell put out, in any of the shapes that the formats have.
#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    text: Text<OUTPUT>,
    #[serde(default)]
    data: Data,
    #[serde(default)]
    ename: Text<NAME>,
    #[serde(default)]
    evalue: Text<OUTPUT>,
    #[serde(default)]
    traceback: Text<OUTPUT>,
    /// Where format 3 has a picture.
    #[serde(default)]
    png: Text<ENCODED>,
}

impl<'de> Deserialize<'de> for Outputs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Outputs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of outputs")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut outputs: A) -> Result<Outputs, A::Error> {
                let mut all = Outputs::default();
                while let Some(output) = outputs.next_element::<Output>()? {
                    all.push(output);
                }
                Ok(all)
            }

            fn visit_unit<E>(self) -> Result<Outputs, E> {
                Ok(Outputs::default())
            }
        }
        from.deserialize_any(All)
    }
}

impl Outputs {
    fn push(&mut self, output: Output) {
        let Output { text, data, ename, evalue, traceback, png } = output;
        self.say(&plain(text));
        self.say(&plain(data.text));
        if traceback.is_empty() && !ename.is_empty() {
            self.say(&format!("{}: {}", ename.as_str(), plain(evalue)));
        }
        self.say(&plain(traceback));
        for (media_type, encoded) in [("image/png", png), ("image/png", data.png), ("image/jpeg", data.jpeg)]
        {
            self.picture(media_type, &encoded);
        }
        if !data.others.is_empty() {
            self.say(&format!("[also as {}]", data.others.as_str()));
        }
    }

    fn say(&mut self, text: &str) {
        self.text.push(text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.text.push("\n");
        }
    }

    fn picture(&mut self, media_type: &str, encoded: &Text<ENCODED>) {
        if encoded.is_empty() {
            return;
        }
        if encoded.is_cut() {
            return self.say(&format!("[{media_type}, not shown: it is too large]"));
        }
        // Base64 in a file is broken into lines, or has a last one.
        let encoded: String = encoded.as_str().chars().filter(|c| !c.is_whitespace()).collect();
        let shown = match Media::from_wire_url(&format!("data:{media_type};base64,{encoded}")).source {
            MediaSource::Bytes(data) if self.pictures.len() < PICTURES => {
                image::picture(data.into(), "output")
            }
            MediaSource::Bytes(data) => Err(format!("{} bytes, one of too many", data.len())),
            _ => Err("it is broken".to_owned()),
        };
        match shown {
            Ok((picture, line)) => {
                self.pictures.push(picture);
                self.say(&line);
            }
            Err(why) => self.say(&format!("[{media_type}, not shown: {why}]")),
        }
    }
}

/// What a cell put out, in several forms of one thing.
#[derive(Default)]
struct Data {
    text: Text<OUTPUT>,
    png: Text<ENCODED>,
    jpeg: Text<ENCODED>,
    /// The types that are not shown.
    others: Text<NAME>,
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = Data;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("forms of an output")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut forms: A) -> Result<Data, A::Error> {
                let mut data = Data::default();
                while let Some(media_type) = forms.next_key::<Text<NAME>>()? {
                    match media_type.as_str() {
                        "text/plain" => data.text = forms.next_value()?,
                        "image/png" => data.png = forms.next_value()?,
                        "image/jpeg" => data.jpeg = forms.next_value()?,
                        other => {
                            forms.next_value::<IgnoredAny>()?;
                            data.others.push(if data.others.is_empty() { "" } else { ", " });
                            data.others.push(other);
                        }
                    }
                }
                Ok(data)
            }

            fn visit_unit<E>(self) -> Result<Data, E> {
                Ok(Data::default())
            }
        }
        from.deserialize_any(Forms)
    }
}

#[cfg(test)]
mod tests;
