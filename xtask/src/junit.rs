//! The part of nextest's JUnit report that matters here: which tests ran, and which failed.

use crate::tiers::TestId;

/// A test that ran.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Which.
    pub(crate) id: TestId,
    /// Whether it passed.
    pub(crate) passed: bool,
}

/// Reads a report. The writer is known, so this is a scan for the few tags it uses, not XML at large.
pub(crate) fn parse(report: &str) -> Vec<Ran> {
    let mut ran: Vec<Ran> = Vec::new();
    for tag in report.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap_or(tag);
        match tag.split_whitespace().next() {
            Some("testcase") => {
                let id = TestId::new(&attribute(tag, "classname"), &attribute(tag, "name"));
                ran.push(Ran { id, passed: true });
            }
            // A test that passed has neither; retries, which would have their own tags, are off.
            Some("failure" | "error") => {
                if let Some(last) = ran.last_mut() {
                    last.passed = false;
                }
            }
            _ => {}
        }
    }
    ran
}

fn attribute(tag: &str, name: &str) -> String {
    let value = tag
        .split_once(&format!(" {name}=\""))
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("", |(value, _)| value);
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
        .iter()
        .fold(value.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_failures() {
        let report = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0">
    <testsuite name="junto-llm::it" tests="2">
        <testcase name="t0_a::good" classname="junto-llm::it" timestamp="x" time="0.1">
        </testcase>
        <testcase name="t0_a::bad &lt;case&gt;" classname="junto-llm::it" time="0.1">
            <failure message="thread &apos;x&apos; panicked" type="test failure with exit code 101">text</failure>
        </testcase>
    </testsuite>
    <testsuite name="junto-twin" tests="1">
        <testcase name="play::tests::last" classname="junto-twin" time="0.1"/>
    </testsuite>
</testsuites>"#;
        let expected = [
            ("junto-llm::it", "t0_a::good", true),
            ("junto-llm::it", "t0_a::bad <case>", false),
            ("junto-twin", "play::tests::last", true),
        ]
        .map(|(binary, name, passed)| Ran { id: TestId::new(binary, name), passed });
        assert_eq!(parse(report), expected);
    }
}
