//! Writing the files that are the user's own.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use super::check;
use super::problem::Problem;

/// Replaces a file as a whole, so that nobody ever reads half of it. Makes the folder it needs.
///
/// # Errors
/// What the system says.
pub(crate) fn replace_file(file: &Path, text: &str) -> io::Result<()> {
    // A file that is a link stays one.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let draft = file.with_extension(format!("toml.{}", std::process::id()));
    let written = fs::File::create(&draft)
        .and_then(|mut draft| {
            draft.write_all(text.as_bytes())?;
            draft.sync_all()
        })
        .and_then(|()| match fs::metadata(&file) {
            Ok(before) => fs::set_permissions(&draft, before.permissions()),
            Err(_) => Ok(()),
        })
        .and_then(|()| fs::rename(&draft, &file));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Adds a rule, as an entry of `[[policy.rule]]`, to the user's file. Comments and everything else stay as
/// they are. Says whether it is new.
///
/// # Errors
/// If the file cannot be read as configuration, or cannot be written.
pub(crate) fn add_rule(file: &Path, entry: &str) -> Result<bool, Problem> {
    let Some(text) = with_rule(file, entry)? else { return Ok(false) };
    let written = replace_file(file, &text);
    written.map_err(|error| Problem::in_file(file, format!("cannot be written: {error}"))).map(|()| true)
}

/// The text of the user's file with this rule; none if it is there already.
///
/// # Errors
/// If the file cannot be read as configuration.
pub(crate) fn with_rule(file: &Path, entry: &str) -> Result<Option<String>, Problem> {
    let text = check::read(file)?.unwrap_or_default();
    let problem = |message: String| Problem::in_file(file, message);
    let mut document = text.parse::<DocumentMut>().map_err(|error| problem(error.message().to_owned()))?;
    let entry = entry.parse::<DocumentMut>().map_err(|error| problem(error.message().to_owned()))?;
    let rule = entry
        .get("policy")
        .and_then(|policy| policy.get("rule"))
        .and_then(Item::as_array_of_tables)
        .and_then(|rules| rules.iter().next())
        .ok_or_else(|| problem("there is no rule to add".to_owned()))?;
    let policy = document.entry("policy").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(policy) = policy.as_table_mut() else {
        return Err(problem("`policy` is not written as a table, so nothing can be added to it".to_owned()));
    };
    let rules = policy.entry("rule").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let Some(rules) = rules.as_array_of_tables_mut() else {
        return Err(problem(
            "`policy.rule` is not written as [[policy.rule]], so nothing can be added".to_owned(),
        ));
    };
    if rules.iter().any(|known| same(known, rule)) {
        return Ok(None);
    }
    let mut table = Table::new();
    for (key, item) in rule {
        table.insert(key, item.clone());
    }
    rules.push(table);
    Ok(Some(document.to_string()))
}

fn same(one: &Table, other: &Table) -> bool {
    let fields = |table: &Table| {
        let mut fields: Vec<_> =
            table.iter().map(|(key, item)| (key.to_owned(), item.as_str().map(str::to_owned))).collect();
        fields.sort();
        fields
    };
    fields(one) == fields(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "[[policy.rule]]\ncommand = \"cargo test *\"\ndecision = \"allow\"\n";

    fn check(before: Option<&str>, after: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("junto/config.toml");
        if let Some(before) = before {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, before).unwrap();
        }
        match (add_rule(&file, RULE), after) {
            (Ok(new), Ok(after)) => {
                assert_eq!(fs::read_to_string(&file).unwrap(), after, "{before:?}");
                assert_eq!(new, before != Some(after));
                assert!(!add_rule(&file, RULE).unwrap(), "a rule is kept once");
            }
            (Err(problem), Err(said)) => {
                assert!(problem.to_string().contains(said), "{problem}");
                assert_eq!(fs::read_to_string(&file).unwrap(), before.unwrap());
            }
            (found, _) => panic!("{before:?}: {found:?}"),
        }
    }

    #[test]
    fn a_rule_is_added_and_everything_else_stays() {
        check(None, Ok(RULE));
        check(Some(RULE), Ok(RULE));
        let mine = "# mine\nmodel = \"m\" # the best\n";
        check(Some(mine), Ok(&format!("{mine}\n{RULE}")));
        let with_mode = "[policy]\n# careful\nmode = \"ask\"\n";
        check(Some(with_mode), Ok(&format!("{with_mode}\n{RULE}")));
        let other = "[[policy.rule]]\n# never\ncommand = \"rm *\"\ndecision = \"deny\"\n";
        check(Some(other), Ok(&format!("{other}\n{RULE}")));
        check(Some("policy = 3\n"), Err("not written as a table"));
        check(Some("policy.rule = []\n"), Err("not written as"));
        check(Some("x = ["), Err(""));
    }
}
