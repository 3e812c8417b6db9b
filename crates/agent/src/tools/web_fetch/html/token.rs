//! HTML cut into tags and text. Every byte is looked at a bounded number of times, whatever comes.

/// A piece of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text as it stands there, entities included.
    Text(&'a str),
    /// The text of the document's title.
    Title(&'a str),
    /// A tag that opens.
    Open { name: String, attributes: Attributes<'a> },
    /// A tag that closes.
    Close { name: String },
}

/// The attributes that matter here, as they stand there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes<'a> {
    pub(super) href: Option<&'a str>,
    pub(super) alt: Option<&'a str>,
}

/// Elements whose content is not for reading. Their content ends only where they are closed.
const UNREAD: &[&str] =
    &["script", "style", "noscript", "template", "svg", "iframe", "object", "textarea", "select", "canvas"];

/// The pieces of a document, in order. What was begun and never ended, such as a comment, swallows the
/// rest, as in browsers.
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { rest: html }
    }

    /// Gives the first `length` bytes and goes on behind them.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Goes on behind the next occurrence of something, or to the end.
    fn skip_past(&mut self, what: &str) {
        self.rest = self.rest.split_once(what).map_or("", |(_, rest)| rest);
    }

    /// What stands before the tag that closes an element; goes on behind that tag.
    fn content_of(&mut self, name: &str) -> &'a str {
        let closes = |&(at, _): &(usize, &str)| {
            let behind = self.rest.get(at + 2..).unwrap_or_default();
            let (found, after) = behind.split_at_checked(name.len()).unwrap_or_default();
            found.eq_ignore_ascii_case(name) && !after.starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        let end = self.rest.match_indices("</").find(closes).map_or(self.rest.len(), |(at, _)| at);
        let content = self.take(end);
        self.skip_past(">");
        content
    }

    /// The name of a tag, in lower case.
    fn name(&mut self) -> String {
        let end = self.rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        self.take(end.unwrap_or(self.rest.len())).to_ascii_lowercase()
    }

    /// The attributes of a tag, up to its end.
    fn attributes(&mut self) -> Attributes<'a> {
        let mut attributes = Attributes::default();
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if self.rest.is_empty() || self.rest.starts_with('>') {
                self.take(1);
                return attributes;
            }
            let (name, value) = self.attribute();
            let slot = match name {
                name if name.eq_ignore_ascii_case("href") => &mut attributes.href,
                name if name.eq_ignore_ascii_case("alt") => &mut attributes.alt,
                _ => continue,
            };
            slot.get_or_insert(value);
        }
    }

    fn attribute(&mut self) -> (&'a str, &'a str) {
        // An equals sign in front belongs to the name.
        let ends = |(at, c): (usize, char)| {
            c.is_ascii_whitespace() || matches!(c, '/' | '>') || (c == '=' && at > 0)
        };
        let end = self.rest.char_indices().find(|&found| ends(found)).map_or(self.rest.len(), |(at, _)| at);
        let name = self.take(end);
        let Some(value) = self.rest.trim_ascii_start().strip_prefix('=') else {
            return (name, "");
        };
        self.rest = value.trim_ascii_start();
        let value = match self.rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                self.take(1);
                let value = self.take(self.rest.find(quote).unwrap_or(self.rest.len()));
                self.take(1);
                value
            }
            _ => {
                let end = self.rest.find(|c: char| c.is_ascii_whitespace() || c == '>');
                self.take(end.unwrap_or(self.rest.len()))
            }
        };
        (name, value)
    }

    /// What begins with `<`; nothing for what is not shown.
    fn markup(&mut self) -> Option<Token<'a>> {
        let behind = self.rest.get(1..).unwrap_or_default();
        if behind.starts_with("!--") {
            self.take(2);
            self.skip_past("-->");
            return None;
        }
        if behind.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.take(1);
            let name = self.name();
            let attributes = self.attributes();
            if name == "title" {
                return Some(Token::Title(self.content_of("title")));
            }
            if let Some(unread) = UNREAD.iter().find(|unread| **unread == name) {
                self.content_of(unread);
                return None;
            }
            return Some(Token::Open { name, attributes });
        }
        if let Some(closing) = behind.strip_prefix('/')
            && closing.starts_with(|c: char| c.is_ascii_alphabetic())
        {
            self.take(2);
            let name = self.name();
            self.skip_past(">");
            return Some(Token::Close { name });
        }
        if behind.starts_with(['!', '?', '/']) {
            self.skip_past(">");
            return None;
        }
        Some(Token::Text(self.take(1)))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while !self.rest.is_empty() {
            match self.rest.find('<') {
                Some(0) => {
                    if let Some(token) = self.markup() {
                        return Some(token);
                    }
                }
                found => return Some(Token::Text(self.take(found.unwrap_or(self.rest.len())))),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces in a short notation: `T(text)`, `<name href alt`, `>name`, `Title(text)`.
    fn check(html: &str, expected: &[&str]) {
        let pieces: Vec<String> = Tokens::new(html)
            .map(|token| match token {
                Token::Text(text) => format!("T({text})"),
                Token::Title(text) => format!("Title({text})"),
                Token::Open { name, attributes: Attributes { href, alt } } => {
                    let shown = |name: &str, value: Option<&str>| value.map(|v| format!(" {name}={v}"));
                    format!(
                        "<{name}{}{}",
                        shown("href", href).unwrap_or_default(),
                        shown("alt", alt).unwrap_or_default()
                    )
                }
                Token::Close { name } => format!(">{name}"),
            })
            .collect();
        assert_eq!(pieces, expected, "{html}");
    }

    #[test]
    fn tags_and_text() {
        check("", &[]);
        check("a<b>c</B>d", &["T(a)", "<b", "T(c)", ">b", "T(d)"]);
        check("<br/><BR />", &["<br", "<br"]);
        check("1 < 2 <3", &["T(1 )", "T(<)", "T( 2 )", "T(<)", "T(3)"]);
        check("<title>A <b> &amp;</title>x", &["Title(A <b> &amp;)", "T(x)"]);
    }

    #[test]
    fn attributes() {
        check("<a href=x>", &["<a href=x"]);
        check("<a class='>' HREF = \"a b>c\" href=no>t", &["<a href=a b>c", "T(t)"]);
        check("<a title=it's href='y'>", &["<a href=y"]);
        check("<img alt src=/x/>", &["<img alt="]);
        check("<a =href=z href=w>", &["<a href=w"]);
    }

    #[test]
    fn what_is_not_shown() {
        check("a<!-- <b> -- > -->c", &["T(a)", "T(c)"]);
        check("a<!-->b<!--->c", &["T(a)", "T(b)", "T(c)"]);
        check("<!DOCTYPE html><?xml x?></ >x", &["T(x)"]);
        check("<script>if (a</b>/.test('</scripty>'))</SCRIPT >x", &["T(x)"]);
        check("<style>p > a {}</style>x", &["T(x)"]);
    }

    #[test]
    fn what_never_ends_swallows_the_rest() {
        check("a<!-- b", &["T(a)"]);
        check("a<script>b", &["T(a)"]);
        check("a<b c='d", &["T(a)", "<b"]);
        check("a<b", &["T(a)", "<b"]);
        check("a</b", &["T(a)", ">b"]);
        check("a<", &["T(a)", "T(<)"]);
        check("a</", &["T(a)"]);
        check("é</tité", &["T(é)", ">tité"]);
        check("<title></titlé", &["Title(</titlé)"]);
    }
}
