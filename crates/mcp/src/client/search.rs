//! Which tools are meant by some words.

use std::sync::Arc;

use junto_core::Tool as _;

use super::tool::ServerTool;

/// The tools that fit the words best, best first. A name counts for more than a description, a whole word for more
/// than a part of one; words that nearly every tool has count for little.
pub(super) fn search(tools: &[Arc<ServerTool>], query: &str, most: usize) -> Vec<Arc<ServerTool>> {
    let wanted = words(query);
    let texts: Vec<Words> = tools.iter().map(|tool| Words::of(tool)).collect();
    let weights: Vec<f64> = wanted
        .iter()
        .map(|word| {
            let having = texts.iter().filter(|text| text.points(word) > 0.0).count();
            weight(having, texts.len())
        })
        .collect();
    let mut found: Vec<(f64, usize)> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let points = wanted.iter().zip(&weights).map(|(word, weight)| text.points(word) * weight).sum();
            (points, index)
        })
        .filter(|(points, _)| *points > 0.0)
        .collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    found.into_iter().take(most).filter_map(|(_, index)| tools.get(index)).cloned().collect()
}

/// How much a word counts that so many of all have.
fn weight(having: usize, all: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "there are a few thousand tools at most")]
    let share = having.max(1) as f64 / all.max(1) as f64;
    1.0 - share.ln()
}

/// The words of a tool.
struct Words {
    server: Vec<String>,
    name: Vec<String>,
    description: Vec<String>,
}

impl Words {
    fn of(tool: &ServerTool) -> Self {
        Self {
            server: words(tool.server()),
            name: words(tool.own_name()),
            description: words(&tool.spec().description),
        }
    }

    fn points(&self, word: &str) -> f64 {
        let best = |words: &[String], whole: f64, part: f64| {
            let points = words.iter().map(|known| {
                if known == word {
                    whole
                } else if word.len() > 2
                    && (known.starts_with(word) || (known.len() > 2 && word.starts_with(known.as_str())))
                {
                    part
                } else {
                    0.0
                }
            });
            points.fold(0.0, f64::max)
        };
        best(&self.name, 4.0, 2.0) + best(&self.server, 2.0, 1.0) + best(&self.description, 1.0, 0.5)
    }
}

/// The words of a text, small; `readFile` and `read_file` have two.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_small = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before_small) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before_small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::keeper::Server;
    use crate::client::tool::What;
    use crate::config::ServerConfig;

    fn tools() -> Vec<Arc<ServerTool>> {
        let rows = [
            ("git", "create_branch", "Make a branch from a commit"),
            ("git", "listCommits", "List the commits of a branch"),
            ("files", "read_file", "Read a file from the disk"),
            ("files", "write_file", "Write a file to the disk"),
            ("mail", "send", "Send a message to somebody"),
        ];
        rows.iter()
            .map(|(server, name, description)| {
                let server = Arc::new(Server::new(0, ServerConfig::http(*server, "http://h/")));
                let tool = rmcp::model::Tool::new(*name, *description, serde_json::Map::new());
                Arc::new(ServerTool::new(format!("x__{name}"), &server, &What::Tool(Box::new(tool))))
            })
            .collect()
    }

    #[test]
    fn the_best_come_first() {
        let check = |query: &str, expected: &[&str]| {
            let tools = tools();
            let found = search(&tools, query, 2);
            let names: Vec<&str> = found.iter().map(|tool| tool.own_name()).collect();
            assert_eq!(names, expected, "{query}");
        };
        check("write a file", &["write_file", "read_file"]);
        check("commits", &["listCommits", "create_branch"]);
        check("git branch create", &["create_branch", "listCommits"]);
        check("MAIL", &["send"]);
        check("sending messages", &["send"]);
        check("weather", &[]);
        check("", &[]);
    }
}
