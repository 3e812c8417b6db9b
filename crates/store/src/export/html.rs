//! A session as one web page: no script, no other file, nothing that was said is taken for markup.

use std::borrow::Cow;
use std::io::{self, Write};

use junto_core::StepStatus;

use super::Page;
use super::entry::{Entry, Sums, What, faults};
use crate::Recovery;
use crate::journal::Header;

const STYLE: &str = include_str!("page.css");

pub(super) struct Html;

impl Page for Html {
    fn begin(&mut self, out: &mut dyn Write, header: &Header) -> io::Result<()> {
        let session = header.session.to_string();
        let begun = header.created.map(|created| format!("<p>Begun {created}.</p>")).unwrap_or_default();
        writeln!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>Session {session}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header><h1>Session {session}</h1>{begun}</header>\n<main>",
            session = escaped(&session),
        )
    }

    fn entry(&mut self, out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
        let class = if entry.child.is_some() { " child" } else { "" };
        let whose = match &entry.child {
            Some(name) => format!(" <small>{}</small>", escaped(name)),
            None => String::new(),
        };
        let time = format!("<time>{}</time>", escaped(&entry.at.strftime("%H:%M:%S").to_string()));
        let mut block = |kind: &str, title: &str, inner: &str| {
            writeln!(out, "<section class=\"{kind}{class}\"><h2>{title}{whose} {time}</h2>{inner}</section>")
        };
        match &entry.what {
            What::Start { facts } => {
                let facts = facts
                    .iter()
                    .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value)));
                block("start", "Begun", &format!("<dl>{}</dl>", facts.collect::<String>()))
            }
            What::Input { turn, text, images } => {
                let images = images.iter().map(|path| format!("<p>Picture: {}</p>", escaped(path)));
                let inner = said(text) + &images.collect::<String>();
                block("input", &format!("{turn}. {}", if class.is_empty() { "You" } else { "Task" }), &inner)
            }
            What::Steering { text } => block("input", "You, meanwhile", &said(text)),
            What::Text { text } => block("answer", "Answer", &said(text)),
            What::Reasoning { text } => block("reasoning", "Reasoning", &folded("thoughts", &said(text))),
            What::Tool { name, arguments, output, is_error } => {
                let failed = if *is_error { ", failed" } else { "" };
                let output = match output {
                    Some(output) if output.is_empty() => "<p>No output.</p>".to_owned(),
                    Some(output) => folded("result", &shown(output)),
                    None => "<p>It was cut off.</p>".to_owned(),
                };
                let arguments = if arguments.is_empty() { String::new() } else { shown(arguments) };
                let kind = if *is_error { "tool failed" } else { "tool" };
                block(kind, &format!("Tool <code>{}</code>{failed}", escaped(name)), &(arguments + &output))
            }
            What::Plan { plan } => {
                let explanation = plan.explanation.as_deref().map(said).unwrap_or_default();
                let steps = plan.steps.iter().map(|step| {
                    let class = match step.status {
                        StepStatus::Pending => "pending",
                        StepStatus::InProgress => "under-way",
                        StepStatus::Completed => "done",
                    };
                    format!("<li class=\"{class}\">{}</li>", escaped(&step.step))
                });
                block("plan", "Plan", &format!("{explanation}<ol>{}</ol>", steps.collect::<String>()))
            }
            What::Child { name, kind, task } => {
                let title =
                    format!("Child <code>{}</code> of kind <code>{}</code>", escaped(name), escaped(kind));
                block("spawn", &title, &said(task))
            }
            What::Remark { kind, text } => block("remark", &escaped(kind), &said(text)),
        }
    }

    fn end(&mut self, out: &mut dyn Write, sums: &Sums, recovery: &Recovery) -> io::Result<()> {
        writeln!(out, "</main>\n<footer><p>{}</p>", escaped(&sums.in_words()))?;
        for fault in faults(recovery) {
            writeln!(out, "<p class=\"damaged\">Damaged: {}</p>", escaped(&fault))?;
        }
        writeln!(out, "</footer>\n</body>\n</html>")
    }
}

fn said(text: &str) -> String {
    format!("<div class=\"said\">{}</div>", escaped(text))
}

fn shown(text: &str) -> String {
    format!("<pre>{}</pre>", escaped(text))
}

fn folded(title: &str, inner: &str) -> String {
    format!("<details><summary>{title}</summary>{inner}</details>")
}

/// A text that means itself, also inside of quotes. Control characters are shown as what they are.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain =
        |c: char| !matches!(c, '&' | '<' | '>' | '"' | '\'') && (!c.is_control() || matches!(c, '\n' | '\t'));
    if text.chars().all(is_plain) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\r' => {}
            c if is_plain(c) => safe.push(c),
            _ => safe.push('\u{FFFD}'),
        }
    }
    safe.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_markup() {
        let check = |text: &str, expected: &str| assert_eq!(escaped(text), expected, "{text:?}");
        check("plain\n\ttext", "plain\n\ttext");
        check("<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
        check("a & \"b\"", "a &amp; &quot;b&quot;");
        check("bell\u{7} and \u{1b}[31mred", "bell\u{FFFD} and \u{FFFD}[31mred");
        check("line\r\nline", "line\nline");
    }
}
