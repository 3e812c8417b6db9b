//! Full-text search over tools, in memory.

use rusqlite::{Connection, params};

use super::catalog::{Catalog, Searched};

/// How many words of a query count.
const MOST_WORDS: usize = 32;

/// An index over the tools of one catalogue.
pub(super) struct Index(Connection);

impl Index {
    pub(super) fn of(catalog: &Catalog) -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE VIRTUAL TABLE tools USING fts5(name, module, description, parameters, tokenize = 'porter unicode61')",
        )?;
        let all = connection.transaction()?;
        {
            let mut insert = all.prepare(
                "INSERT INTO tools (rowid, name, module, description, parameters) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for (place, tool) in catalog.searched().enumerate() {
                let Searched { name, module, description, parameters } = tool;
                let place = i64::try_from(place).unwrap_or(i64::MAX);
                insert.execute(params![
                    place,
                    words(&name),
                    words(&module),
                    description,
                    words(&parameters)
                ])?;
            }
        }
        all.commit()?;
        Ok(Self(connection))
    }

    /// The places of the tools that fit best, the best first.
    pub(super) fn find(&self, query: &str, limit: usize) -> rusqlite::Result<Vec<usize>> {
        let query = expression(query);
        if query.is_empty() {
            return Ok(Vec::new());
        }
        // A word in the name says more than one in the description.
        let mut find = self.0.prepare(
            "SELECT rowid FROM tools WHERE tools MATCH ?1 ORDER BY bm25(tools, 8.0, 4.0, 2.0, 1.0), rowid LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = find.query_map(params![query, limit], |row| row.get::<_, i64>(0))?;
        rows.map(|row| row.map(|place| usize::try_from(place).unwrap_or_default())).collect()
    }
}

/// Any of the words of a query, also as the beginnings of words.
fn expression(query: &str) -> String {
    let query = words(query);
    let each = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(MOST_WORDS);
    each.map(|word| format!("\"{word}\"*")).collect::<Vec<_>>().join(" OR ")
}

/// With `camelCase` as two words.
fn words(text: &str) -> String {
    let mut apart = String::with_capacity(text.len() + 8);
    let mut after_small = false;
    for c in text.chars() {
        if c.is_uppercase() && after_small {
            apart.push(' ');
        }
        after_small = c.is_lowercase() || c.is_ascii_digit();
        apart.push(c);
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_words_and_nothing_else() {
        for (query, expected) in [
            ("", ""),
            ("create issue", "\"create\"* OR \"issue\"*"),
            ("createIssue", "\"create\"* OR \"Issue\"*"),
            ("a\" OR NEAR(x) -b *", "\"a\"* OR \"OR\"* OR \"NEAR\"* OR \"x\"* OR \"b\"*"),
            ("größe", "\"größe\"*"),
        ] {
            assert_eq!(expression(query), expected, "{query}");
        }
    }
}
