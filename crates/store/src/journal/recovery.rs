//! What was found wrong with a journal, as it is told.

use std::fmt;
use std::path::PathBuf;

use junto_core::Seq;

/// How many damages are told one by one.
const TOLD: usize = 1000;

/// What was found wrong with a journal, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// What a crash left of a last record.
    pub cut: Option<Cut>,
    /// Bytes in the middle that are not what was written: the first thousand of such places.
    pub damaged: Vec<Damage>,
    /// How many more there are.
    pub more_damaged: u64,
    /// Texts beside it that are gone, or are not what was written: the first thousand of those that were looked for.
    pub texts: Vec<LostText>,
    /// How many payloads were removed since no event names them.
    pub swept: u64,
}

/// The end of a journal that was no whole record. Nobody was ever shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where it began.
    pub at: u64,
    /// How long it was.
    pub bytes: u64,
    /// The file it is kept in; none if the journal was only read.
    pub kept: Option<PathBuf>,
}

/// Bytes in a journal that are no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where they begin.
    pub at: u64,
    /// How many there are.
    pub bytes: u64,
    /// The first and the last position that is missing because of them; none if nothing is missing.
    pub lost: Option<(Seq, Seq)>,
    /// What is wrong with them.
    pub why: String,
}

/// A text beside a journal that is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostText {
    /// The event that names it.
    pub seq: Seq,
    /// What is wrong with it.
    pub why: String,
}

impl Recovery {
    /// Whether nothing was wrong. Payloads that were swept are nothing wrong: a tool was interrupted.
    pub fn is_clean(&self) -> bool {
        self.cut.is_none() && self.damaged.is_empty() && self.texts.is_empty()
    }

    /// Adds a text that is lost.
    pub(crate) fn add_text(&mut self, text: LostText) {
        if self.texts.len() < TOLD {
            self.texts.push(text);
        }
    }

    /// Adds a damage.
    pub(crate) fn add(&mut self, damage: Damage) {
        if self.damaged.len() < TOLD {
            self.damaged.push(damage);
        } else {
            self.more_damaged += 1;
        }
    }
}

impl fmt::Display for Recovery {
    /// One line for each thing that was wrong; nothing if nothing was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if let Some(Cut { at, bytes, kept }) = &self.cut {
            let kept = kept.as_ref().map(|path| format!(", kept in {}", path.display())).unwrap_or_default();
            lines.push(format!("the last {bytes} bytes, from byte {at} on, are no whole record{kept}"));
        }
        for Damage { at, bytes, lost, why } in &self.damaged {
            let lost = match lost {
                Some((first, last)) if first == last => format!("event {first} is lost"),
                Some((first, last)) => format!("events {first} to {last} are lost"),
                None => "no event is lost".to_owned(),
            };
            lines.push(format!("{bytes} bytes from byte {at} on are damaged ({why}): {lost}"));
        }
        if self.more_damaged > 0 {
            lines.push(format!("{} more places are damaged", self.more_damaged));
        }
        for LostText { seq, why } in &self.texts {
            lines.push(format!("a long text of event {seq} is lost but for its ends: {why}"));
        }
        f.write_str(&lines.join("\n"))
    }
}
