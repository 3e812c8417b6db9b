//! The options of the real command that are used here; anything else is refused, so that a runner
//! that would not work with the real one does not work with the fake.

/// How many values an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    One,
    /// All that follows up to the next option.
    Several,
}

const OPTIONS: &[(&str, Takes)] = &[
    ("-p", Takes::Nothing),
    ("--print", Takes::Nothing),
    ("--verbose", Takes::Nothing),
    ("--include-partial-messages", Takes::Nothing),
    ("--strict-mcp-config", Takes::Nothing),
    ("--output-format", Takes::One),
    ("--input-format", Takes::One),
    ("--model", Takes::One),
    ("-r", Takes::One),
    ("--resume", Takes::One),
    ("--permission-mode", Takes::One),
    ("--setting-sources", Takes::One),
    ("--append-system-prompt", Takes::One),
    ("--append-system-prompt-file", Takes::One),
    ("--system-prompt-snapshot", Takes::One),
    ("--effort", Takes::One),
    ("--max-turns", Takes::One),
    ("--max-budget-usd", Takes::One),
    ("--tools", Takes::Several),
    ("--allowedTools", Takes::Several),
    ("--disallowedTools", Takes::Several),
    ("--add-dir", Takes::Several),
];

const PERMISSION_MODES: &[&str] = &["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

/// What was asked for, as far as it changes what the fake does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) partial: bool,
    pub(super) json_input: bool,
    /// Whether the answer is printed as it is, and nothing else.
    pub(super) text: bool,
    pub(super) resume: Option<String>,
}

impl Arguments {
    pub(super) fn parse(argv: &[String]) -> Result<Self, String> {
        let mut parsed = Self::default();
        let (mut print, mut verbose, mut stream) = (false, false, false);
        let mut rest = argv.iter().map(String::as_str).peekable();
        while let Some(option) = rest.next() {
            let (_, takes) = OPTIONS
                .iter()
                .find(|(name, _)| *name == option)
                .ok_or_else(|| format!("unknown option '{option}'"))?;
            let mut values = Vec::new();
            match takes {
                Takes::Nothing => {}
                Takes::One => values.extend(rest.next()),
                Takes::Several => {
                    while let Some(value) = rest.next_if(|value| !value.starts_with('-')) {
                        values.push(value);
                    }
                }
            }
            let value = values.first().copied();
            if *takes != Takes::Nothing && value.is_none() {
                return Err(format!("option '{option}' argument missing"));
            }
            match option {
                "-p" | "--print" => print = true,
                "--verbose" => verbose = true,
                "--include-partial-messages" => parsed.partial = true,
                "--output-format" => {
                    stream = value == Some("stream-json");
                    parsed.text = value == Some("text");
                }
                "--input-format" => parsed.json_input = value == Some("stream-json"),
                "-r" | "--resume" => parsed.resume = value.map(str::to_owned),
                "--permission-mode" if !PERMISSION_MODES.iter().any(|mode| value == Some(mode)) => {
                    return Err(format!("option '{option}' argument {value:?} is invalid"));
                }
                _ => {}
            }
        }
        let followed = stream && verbose && (print || parsed.json_input);
        if !(followed || print && parsed.text) {
            return Err("the fake needs -p --output-format stream-json --verbose, or text".to_owned());
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<Arguments, &str>) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match (Arguments::parse(&argv), expected) {
            (Ok(parsed), Ok(expected)) => assert_eq!(parsed, expected, "{line}"),
            (Err(message), Err(part)) => assert!(message.contains(part), "{line}: {message}"),
            (got, expected) => panic!("{line}: {got:?}, not {expected:?}"),
        }
    }

    #[test]
    fn what_the_real_command_takes() {
        let plain = "-p --output-format stream-json --verbose";
        check(plain, Ok(Arguments::default()));
        check(
            &format!("{plain} --tools Read Grep --include-partial-messages --resume abc"),
            Ok(Arguments { partial: true, resume: Some("abc".to_owned()), ..Arguments::default() }),
        );
        check("-p --output-format text", Ok(Arguments { text: true, ..Arguments::default() }));
        check("-p --output-format stream-json", Err("--verbose"));
        check(&format!("{plain} -m opus"), Err("'-m'"));
        check(&format!("{plain} tell me"), Err("'tell'"));
        check(&format!("{plain} --model"), Err("missing"));
        check(&format!("{plain} --permission-mode everything"), Err("invalid"));
    }
}
