//! HTML as text that can be read: headings, links, lists, code and tables roughly as in Markdown.
//!
//! This is no browser. It takes any bytes that are text, in time linear in their number, and leaves out
//! what is not for reading.

mod entity;
mod token;

use reqwest::Url;

use token::{Attributes, Token, Tokens};

/// How many characters of a title are kept.
const TITLE: usize = 300;
/// What begins preformatted text.
const FENCE: &str = "```\n";
/// How deep lists are indented.
const DEEPEST: usize = 16;

/// A page that can be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Its title, if it has one.
    pub(super) title: Option<String>,
    /// Its text.
    pub(super) text: String,
}

/// What a document says, up to `limit` bytes. Links are given in full, if they are relative to `base`.
pub(super) fn read(html: &str, base: &Url, limit: usize) -> Page {
    let mut writer = Writer::new(base, limit);
    let mut title = None;
    for token in Tokens::new(html) {
        match token {
            Token::Text(text) => writer.text(text),
            Token::Title(text) => {
                let words: Vec<String> = entity::decode(text).split_whitespace().map(str::to_owned).collect();
                let text: String = words.join(" ").chars().take(TITLE).collect();
                title = title.or(Some(text).filter(|text| !text.is_empty()));
            }
            Token::Open { name, attributes } => writer.open(&name, &attributes),
            Token::Close { name } => writer.close(&name),
        }
        if writer.text.len() >= writer.limit {
            break;
        }
    }
    Page { title, text: writer.finish() }
}

/// How much room an element takes for itself.
fn lines_around(name: &str) -> Option<usize> {
    Some(match name {
        "p" | "ul" | "ol" | "dl" | "table" | "blockquote" | "pre" | "figure" | "h1" | "h2" | "h3" | "h4"
        | "h5" | "h6" | "hr" => 2,
        "div" | "section" | "article" | "header" | "footer" | "main" | "aside" | "nav" | "form"
        | "fieldset" | "figcaption" | "dt" | "dd" | "address" | "details" | "summary" | "li" | "tr"
        | "caption" | "br" | "body" | "option" => 1,
        _ => return None,
    })
}

/// A mark around words: it is written with the first of them, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Absent,
    Due,
    Written,
}

/// Writes text while it keeps track of where it is.
struct Writer<'a> {
    base: &'a Url,
    limit: usize,
    text: String,
    /// Line ends that are due before the next word.
    breaks: usize,
    /// Whether a space is due before the next word.
    space: bool,
    /// What is due right before the next word: the mark of a heading, an item or a cell.
    prefix: String,
    /// Where the link leads that is open, and its bracket.
    link: Option<(String, Mark)>,
    code: Mark,
    pre: bool,
    /// Whether a cell of this row was begun.
    in_row: bool,
    /// For each list that is open: the number of the next item, if items are numbered.
    lists: Vec<Option<u32>>,
}

impl<'a> Writer<'a> {
    fn new(base: &'a Url, limit: usize) -> Self {
        Self {
            base,
            limit,
            text: String::new(),
            breaks: 0,
            space: false,
            prefix: String::new(),
            link: None,
            code: Mark::Absent,
            pre: false,
            in_row: false,
            lists: Vec::new(),
        }
    }

    fn push(&mut self, text: &str) {
        if self.text.len() + text.len() <= self.limit {
            self.text.push_str(text);
        } else {
            // Full: a word is not cut in two, and nothing may follow what was left out.
            self.limit = self.text.len();
        }
    }

    /// Writes what is due before the next word.
    fn begin_word(&mut self) {
        if !self.text.is_empty() {
            match self.breaks {
                0 if self.space => self.push(" "),
                0 => {}
                1 => self.push("\n"),
                _ => self.push("\n\n"),
            }
        }
        (self.breaks, self.space) = (0, false);
        let mut marks = std::mem::take(&mut self.prefix);
        if let Some((_, mark @ Mark::Due)) = &mut self.link {
            *mark = Mark::Written;
            marks.push('[');
        }
        if self.code == Mark::Due {
            self.code = Mark::Written;
            marks.push('`');
        }
        self.push(&marks);
    }

    fn new_line(&mut self, lines: usize) {
        self.breaks = self.breaks.max(lines);
        self.space = false;
    }

    fn text(&mut self, raw: &str) {
        let text = entity::decode(raw);
        if self.pre {
            let fresh = self.prefix.ends_with(FENCE);
            let text = if fresh { text.strip_prefix('\n').unwrap_or(&text) } else { &text };
            if !text.is_empty() {
                self.begin_word();
                self.push(text);
            }
            return;
        }
        for (n, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            self.space |= n > 0;
            if !word.is_empty() {
                self.begin_word();
                self.push(word);
            }
        }
    }

    fn open(&mut self, name: &str, attributes: &Attributes<'_>) {
        if let Some(lines) = lines_around(name) {
            self.new_line(lines);
        }
        match name {
            // There is only text in preformatted text.
            _ if self.pre => {}
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.bytes().nth(1).map_or(1, |digit| usize::from(digit - b'0'));
                self.prefix = "#".repeat(level) + " ";
            }
            "ul" => self.lists.push(None),
            "ol" => self.lists.push(Some(1)),
            "li" => self.item(),
            "pre" => {
                self.end_link();
                self.end_code();
                self.pre = true;
                self.prefix.push_str(FENCE);
            }
            "code" if self.code == Mark::Absent => self.code = Mark::Due,
            "a" => {
                self.end_link();
                let target = attributes.href.and_then(|href| self.target(href));
                self.link = target.map(|target| (target, Mark::Due));
            }
            "img" => {
                let alt = entity::decode(attributes.alt.unwrap_or_default());
                let alt = alt.trim();
                if !alt.is_empty() {
                    self.begin_word();
                    self.push(&format!("[image: {alt}]"));
                }
            }
            "tr" => self.in_row = false,
            "td" | "th" => {
                if self.in_row {
                    self.space = true;
                    self.prefix.push_str("| ");
                }
                self.in_row = true;
            }
            "hr" => {
                self.begin_word();
                self.push("---");
                self.new_line(2);
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "pre" => self.end_pre(),
            _ if self.pre => {}
            "a" => self.end_link(),
            "code" => self.end_code(),
            "ul" | "ol" => {
                self.lists.pop();
            }
            // What had no text needs no mark either.
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "li" | "tr" => self.prefix.clear(),
            _ => {}
        }
        if let Some(lines) = lines_around(name) {
            self.new_line(lines);
        }
    }

    fn item(&mut self) {
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(DEEPEST));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "- ".to_owned(),
        };
        self.prefix = indent + &mark;
    }

    /// Where a link leads, in full; nowhere if that is the same page or no page at all.
    fn target(&self, href: &str) -> Option<String> {
        let href = entity::decode(href);
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let url = self.base.join(href).ok()?;
        matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.into())
    }

    fn end_link(&mut self) {
        if let Some((target, Mark::Written)) = self.link.take() {
            self.push(&format!("]({target})"));
        }
    }

    fn end_code(&mut self) {
        if std::mem::replace(&mut self.code, Mark::Absent) == Mark::Written {
            self.push("`");
        }
    }

    fn end_pre(&mut self) {
        if !std::mem::take(&mut self.pre) {
            return;
        }
        if self.prefix.ends_with(FENCE) {
            self.prefix.clear();
            return;
        }
        self.push(if self.text.ends_with('\n') { "```" } else { "\n```" });
    }

    fn finish(mut self) -> String {
        self.end_link();
        self.end_code();
        self.end_pre();
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(html: &str) -> Page {
        read(html, &Url::parse("https://example.org/dir/page").unwrap(), 1 << 20)
    }

    fn check(html: &str, expected: &str) {
        assert_eq!(page(html).text, expected, "{html}");
    }

    #[test]
    fn paragraphs_and_headings() {
        check("  a\n b\t<b>c</b>d ", "a b cd");
        check("<p>a<p>b</p>c", "a\n\nb\n\nc");
        check("<div><div>a</div></div><div>b</div>", "a\nb");
        check("a<br>b<br/><br/>c", "a\nb\nc");
        check("<h1>A</h1><h3> B <i>c</i></h3>d", "# A\n\n### B c\n\nd");
        check("<h2></h2>x<h2> </h2>", "x");
        check("a<hr>b", "a\n\n---\n\nb");
        check("a &amp; b&nbsp;c &lt;p&gt;", "a & b c <p>");
    }

    #[test]
    fn links_and_images() {
        check("see <a href='/x?a=1&amp;b'>the x</a>.", "see [the x](https://example.org/x?a=1&b).");
        check("<a href=other> y </a>z", "[y](https://example.org/dir/other) z");
        check("<a href='#top'>up</a> <a href='javascript:x()'>run</a> <a>name</a>", "up run name");
        check("a<a href=/x></a>b<a href=/y><img alt=''></a>", "ab");
        check("<a href=/x><img src=i alt='A cat'></a>", "[[image: A cat]](https://example.org/x)");
        check("<a href=/x><h3>T</h3><p>b</p></a>", "### [T\n\nb](https://example.org/x)");
        check("<a href=/x>one<a href=/y>two", "[one](https://example.org/x)[two](https://example.org/y)");
    }

    #[test]
    fn lists_code_and_tables() {
        check("<ul><li>a<li><p>b</p></li></ul>c", "- a\n\n- b\n\nc");
        check("<ol><li>a</li><li>b<ul><li>c</ul></ol>", "1. a\n2. b\n\n  - c");
        check("<li>a</li><li></li><li>b</li>", "- a\n- b");
        check("use <code>a  b</code> or <code></code>", "use `a b` or");
        check("x<pre>\n a\n  <b>b</b> &lt;\n</pre>y", "x\n\n```\n a\n  b <\n```\n\ny");
        check("<pre><code>a</code></pre><pre></pre>b", "```\na\n```\n\nb");
        check("<pre>a", "```\na\n```");
        check("<table><tr><th>A<th>B</tr><tr><td>1</td><td></td><td>3</td></tr></table>", "A | B\n1 | | 3");
    }

    #[test]
    fn what_is_not_for_reading_is_left_out() {
        let html = "<html><head><title> A\n&amp; B </title><style>x</style><script>y</script></head>\
                    <body><!-- z --><svg><text>t</text></svg>body<noscript>n</noscript></body></html>";
        assert_eq!(page(html), Page { title: Some("A & B".into()), text: "body".into() });
        assert_eq!(page("<title></title><title>2</title>").title, Some("2".into()));
    }

    #[test]
    fn the_limit_holds_also_where_links_are_longer_in_full() {
        let base = Url::parse(&format!("https://example.org/{}/", "x".repeat(1000))).unwrap();
        let html = "<a href=y>z</a>".repeat(10_000);
        let text = read(&html, &base, 5000).text;
        assert!(text.len() <= 5000 && text.starts_with("[z](https://example.org/xxx"), "{}", text.len());
    }

    #[test]
    fn a_large_page_of_nothing_but_beginnings_takes_linear_time() {
        for bit in [
            "<", "<a ", "<a '", "<!--", "</", "<script>", "&", "&#", "<pre>", "<ul>", "<svg", "</title",
            "<ol><li>",
        ] {
            read(&bit.repeat(300_000), &Url::parse("http://example.org").unwrap(), 1 << 20);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(html in "([a-z <>/!'\"=&#;\n\u{e9}-]|<(a href=|/?(a|p|pre|code|li|ul|ol|td|tr|h[1-6]|title|script|img alt=x|hr)|!--)>?){0,60}", limit in 0_usize..200) {
            let base = Url::parse("https://example.org/").unwrap();
            let whole = read(&html, &base, 1 << 20);
            prop_assert!(!whole.text.starts_with('\n'));
            prop_assert!(read(&html, &base, limit).text.len() <= limit);
        }
    }
}
