//! A session as Markdown.

use std::io::{self, Write};

use junto_core::StepStatus;

use super::Page;
use super::entry::{Entry, Sums, What, faults};
use crate::Recovery;
use crate::journal::Header;

pub(super) struct Markdown;

impl Page for Markdown {
    fn begin(&mut self, out: &mut dyn Write, header: &Header) -> io::Result<()> {
        writeln!(out, "# Session {}\n", header.session)?;
        header.created.iter().try_for_each(|created| writeln!(out, "Begun {created}.\n"))
    }

    fn entry(&mut self, out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
        let whose = entry.child.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        match &entry.what {
            What::Start { facts } if entry.child.is_none() => {
                for (name, value) in facts {
                    writeln!(out, "- {name}: {}", code(value))?;
                }
                writeln!(out)
            }
            What::Start { .. } => Ok(()),
            What::Input { turn, text, images } if entry.child.is_none() => {
                writeln!(out, "## {turn}. You\n\n{text}\n")?;
                images.iter().try_for_each(|path| writeln!(out, "Picture: {}\n", code(path)))
            }
            What::Input { text, .. } => writeln!(out, "### Task{whose}\n\n{}\n", quoted(text)),
            What::Steering { text } => writeln!(out, "### You, meanwhile{whose}\n\n{text}\n"),
            What::Text { text } => writeln!(out, "### Answer{whose}\n\n{text}\n"),
            What::Reasoning { text } => writeln!(out, "### Reasoning{whose}\n\n{}\n", quoted(text)),
            What::Tool { name, arguments, output, is_error } => {
                let failed = if *is_error { ", failed" } else { "" };
                writeln!(out, "### Tool {}{failed}{whose}\n", code(name))?;
                if !arguments.is_empty() {
                    writeln!(out, "{}\n", fenced(arguments))?;
                }
                match output {
                    Some(output) if !output.is_empty() => writeln!(out, "Result:\n\n{}\n", fenced(output)),
                    Some(_) => writeln!(out, "No output.\n"),
                    None => writeln!(out, "It was cut off.\n"),
                }
            }
            What::Plan { plan } => {
                writeln!(out, "### Plan{whose}\n")?;
                if let Some(explanation) = &plan.explanation {
                    writeln!(out, "{explanation}\n")?;
                }
                for step in &plan.steps {
                    let (mark, note) = match step.status {
                        StepStatus::Pending => (' ', ""),
                        StepStatus::InProgress => (' ', " (under way)"),
                        StepStatus::Completed => ('x', ""),
                    };
                    writeln!(out, "- [{mark}] {}{note}", line(&step.step))?;
                }
                writeln!(out)
            }
            What::Child { name, kind, task } => {
                writeln!(out, "### Child {} of kind {}{whose}\n\n{}\n", code(name), code(kind), quoted(task))
            }
            What::Remark { kind, text } => writeln!(out, "*{kind}*{whose}: {}\n", line(text)),
        }
    }

    fn end(&mut self, out: &mut dyn Write, sums: &Sums, recovery: &Recovery) -> io::Result<()> {
        writeln!(out, "---\n\n{}", sums.in_words())?;
        faults(recovery).iter().try_for_each(|fault| writeln!(out, "\n**Damaged:** {fault}"))
    }
}

/// A text in one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A short text as code, whatever backticks are in it.
fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{}{space}{ticks}", line(text))
}

/// A block that shows a text as it is, whatever fences are in it.
fn fenced(text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| if line.is_empty() { ">".to_owned() } else { format!("> {line}") });
    lines.collect::<Vec<_>>().join("\n")
}

/// How many backticks stand side by side at most.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_code_cannot_be_broken_out_of() {
        assert_eq!(code("a.rs"), "`a.rs`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a`"), "`` `a` ``");
        assert_eq!(fenced("x"), "```\nx\n```");
        assert_eq!(fenced("```\nx\n```\n"), "````\n```\nx\n```\n````");
        assert_eq!(quoted("a\n\nb"), "> a\n>\n> b");
    }
}
