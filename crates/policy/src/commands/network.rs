//! Commands that reach out, as far as one can tell where to.

use super::files::{MOST_PAIRS, too_many};
use super::options::read;
use crate::deed::{Deed, Target};
use crate::shell::Word;
use crate::study::Study;

/// Options of `curl` that add nothing to where it reaches and what it reads.
const CURL: &str = "-o:w --output:w -O:i --remote-name:i -H:e --header:e -X:v --request:v -A:v --user-agent:v -m:v --max-time:v \
                    --connect-timeout:v --retry:v --retry-delay:v -d:e --data:e --data-raw:v --json:e -w:f --write-out:f \
                    --output-dir:t -D:w --dump-header:w -c:w --cookie-jar:w";
/// Its flags of that kind.
const CURL_FLAGS: [&str; 15] = [
    "--compressed",
    "--create-dirs",
    "--fail",
    "--fail-with-body",
    "--get",
    "--globoff",
    "--head",
    "--http1.1",
    "--http2",
    "--include",
    "--no-progress-meter",
    "--show-error",
    "--silent",
    "--verbose",
    "--version",
];

/// `curl`: hosts are judged, as long as its options are plain.
pub(super) fn curl(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(CURL, words);
    let plain = |word: &Word| match word.text() {
        None => !word.may_be_option() || word.beginning().starts_with("-o") || word.beginning().contains('='),
        Some(text) if text.starts_with("--") => {
            let name = text.split('=').next().unwrap_or_default();
            CURL_FLAGS.contains(&name)
                || CURL.split_whitespace().any(|option| option.split(':').next() == Some(name))
        }
        Some(text) if text.starts_with('-') => {
            // What follows the first letter with a value is that value.
            let flags = text.chars().skip(1).take_while(|c| !"oHXAmdwDc".contains(*c));
            flags.into_iter().all(|c| "sSfIigvGO".contains(c))
        }
        Some(_) => true,
    };
    if given.doubtful || !words.iter().all(plain) {
        deeds.push(Deed::Net(None));
    }
    for (effect, value) in &given.found {
        match (effect, value) {
            ('w' | 't', Some(file)) if file.text() != Some("-") => {
                deeds.push(Deed::Write(study.target(file)));
            }
            // What is printed can go into files.
            ('f', Some(value)) if value.text().is_none_or(|text| text.contains("%output")) => {
                deeds.push(Deed::Write(Target::Unknown(value.source().to_owned())));
            }
            // `@file` sends a file.
            ('e' | 'f', Some(value)) if value.text().is_none_or(|text| text.starts_with('@')) => {
                let file = value.without("@");
                deeds.push(Deed::Read(
                    file.map_or(Target::Unknown(value.source().to_owned()), |file| study.target(&file)),
                ));
                deeds.push(Deed::Net(None));
            }
            _ => {}
        }
    }
    if given.has('i') {
        let places: Vec<&Word> = given.values('t').collect();
        fetched(study, &places, &given.operands, deeds);
    }
    // Files of this machine have addresses, too.
    let files = given.operands.iter().filter_map(|word| Some((word, scheme(word.beginning())?)));
    for (word, _) in files.filter(|(_, scheme)| scheme.eq_ignore_ascii_case("file")) {
        let path =
            word.text().and_then(|text| text.get(text.find("//").map_or("file:".len(), |at| at + 2)..));
        let path = path.and_then(|path| path.find('/').and_then(|at| path.get(at..)));
        let plain = path.filter(|path| !path.contains(['%', '{', '[', '?', '#']));
        deeds.push(Deed::Read(match plain {
            Some(path) => study.target(&Word::known(path)),
            None => Target::Unknown(word.source().to_owned()),
        }));
    }
    reach(&given.operands, deeds);
}

/// Files that are fetched under the names that they have there.
fn fetched(study: &Study<'_>, places: &[&Word], addresses: &[Word], deeds: &mut Vec<Deed>) {
    let here = Word::known(".");
    let places = if places.is_empty() { vec![&here] } else { places.to_vec() };
    if places.len().saturating_mul(addresses.len()) > MOST_PAIRS {
        return deeds.push(too_many());
    }
    for place in places {
        deeds.push(Deed::Write(study.target(place)));
        for address in addresses {
            let name = address.text().and_then(|text| text.split(['?', '#']).next()?.rsplit('/').next());
            let name = name.filter(|name| !name.contains(['%', '{', '[', '\\']));
            deeds.push(Deed::Write(match (place.text(), name) {
                (Some(place), Some(name)) => study.target(&Word::known(&format!("{place}/{name}"))),
                _ => Target::Unknown(address.source().to_owned()),
            }));
        }
    }
}

/// The scheme of an address, if it has one: what stands before a colon and a slash.
fn scheme(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once(':')?;
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    (rest.starts_with('/') && scheme.chars().all(letters)).then_some(scheme)
}

/// `wget`: it writes where it is.
pub(super) fn wget(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read("-O:w --output-document:w -q:d --quiet:d -P:t --directory-prefix:t", words);
    let plain = |word: &Word| {
        matches!(word.text(), Some("-q" | "--quiet" | "-O" | "-P" | "-nv")) || !word.may_be_option()
    };
    if !words.iter().all(plain) {
        deeds.push(Deed::Net(None));
        deeds.push(Deed::Opaque("options of `wget` that are not plain".to_owned()));
    }
    let mut told = false;
    for (effect, value) in &given.found {
        if let ('w' | 't', Some(file)) = (effect, value) {
            told = true;
            if file.text() != Some("-") {
                deeds.push(Deed::Write(study.target(file)));
            }
        }
    }
    let places: Vec<&Word> = given.values('t').collect();
    if !told || !places.is_empty() {
        fetched(study, &places, &given.operands, deeds);
    }
    reach(&given.operands, deeds);
}

fn reach(addresses: &[Word], deeds: &mut Vec<Deed>) {
    if addresses.is_empty() {
        deeds.push(Deed::Net(None));
    }
    deeds.extend(addresses.iter().map(|word| Deed::Net(host(word))));
}

/// The host in an address, if it is known for sure.
fn host(word: &Word) -> Option<String> {
    let text = word.beginning();
    let rest = match scheme(text) {
        None => text,
        // By other ways something else is done there, or here.
        Some(scheme) if !["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) => return None,
        Some(_) => text.split_once("://")?.1,
    };
    let whole = word.text().is_some() || rest.contains(['/', '?']);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split(':').next()?.to_ascii_lowercase();
    let plain =
        !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    (whole && plain && !rest.contains(['\\', '{', '['])).then_some(host)
}

/// `ssh`: what it runs there is not seen from here.
pub(super) fn ssh(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    deeds.push(Deed::Net(None));
    // `-o ProxyCommand=…` and its like run here.
    let told = |word: &Word| word.text().is_some_and(|text| text.to_ascii_lowercase().contains("command="));
    if words.iter().any(told) {
        deeds.push(Deed::Hidden("an option lets `ssh` run something else".to_owned()));
    }
    deeds.push(Deed::Beyond("it acts on another machine".to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (address, expected) in [
            ("https://Example.org/a", Some("example.org")),
            ("example.org", Some("example.org")),
            ("https://user:pw@example.org:8080/x", Some("example.org")),
            ("http://example.org@evil.net/", Some("evil.net")),
            ("http://evil.net\\@example.org/", None),
            ("http://{a,b}.org/", None),
            ("HTTP://example.org", Some("example.org")),
            ("example.org:8080/x", Some("example.org")),
            ("file://localhost/etc/passwd", None),
            ("file:/etc/passwd", None),
            ("http:/example.org", None),
            ("gopher://example.org/x", None),
            ("ftp://example.org/x", None),
            ("", None),
        ] {
            assert_eq!(host(&Word::known(address)).as_deref(), expected, "{address}");
        }
    }
}
