//! `junto sessions`: what was kept, newest first.

use junto::llm::Cost;
use junto::store::{Filter, SessionRow, Standing};
use serde_json::{Value, json};

use crate::args::SessionsArgs;
use crate::commands::models::columns;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::output::paint::fit;
use crate::{saved, when};

/// The longest title in a table.
const TITLE: usize = 60;

/// Runs the command.
pub(crate) fn run(args: &SessionsArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    for note in &config.notes {
        output.note(note);
    }
    let folder = saved::folder(environment);
    let rows = match saved::open_existing(&config, environment)? {
        None => Vec::new(),
        Some(store) => {
            let filter = Filter {
                workdir: (!args.all).then(|| folder.display().to_string()),
                limit: Some(args.limit).filter(|limit| *limit > 0),
                ..Filter::default()
            };
            store.index().and_then(|index| index.sessions(&filter)).map_err(|error| saved::failure(&error))?
        }
    };
    if args.json {
        let rows: Vec<Value> = rows.iter().map(row_json).collect();
        output.data(&format!("{:#}\n", json!({"sessions": rows})))?;
    } else if rows.is_empty() && args.all {
        output.data("no session was kept yet\n")?;
    } else if rows.is_empty() {
        output.data(&format!(
            "no session of {} was kept; `junto sessions --all` lists those of all folders\n",
            folder.display()
        ))?;
    } else {
        output.data(&table(&rows, args.all))?;
    }
    Ok(Exit::Done)
}

fn row_json(row: &SessionRow) -> Value {
    let SessionRow { id, title, workdir, kind, model, created, updated, turns, state, spent, .. } = row;
    json!({
        "id": id,
        "title": title,
        "workdir": workdir,
        "kind": kind,
        "model": model,
        "created": created.to_string(),
        "updated": updated.to_string(),
        "turns": turns,
        "state": state,
        "calls": spent.calls,
        "input": spent.usage.input,
        "output": spent.usage.output,
        "cost": super::cost::cost_json(spent),
    })
}

fn table(rows: &[SessionRow], with_folder: bool) -> String {
    let folder = with_folder.then_some("FOLDER");
    let heads = ["ID", "LAST", "TURNS", "COST", "MODEL", "STATE"].into_iter().chain(folder).chain(["TITLE"]);
    let mut lines = vec![heads.map(str::to_owned).collect()];
    lines.extend(rows.iter().map(|row| {
        let folder = row.workdir.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default();
        let cells = [
            saved::short(&row.id).to_owned(),
            when::minute(row.updated),
            row.turns.to_string(),
            cost(row),
            row.model.clone().unwrap_or_else(|| row.kind.clone()),
            state(row.state).to_owned(),
        ];
        let title = fit(&row.title, TITLE).into_owned();
        cells.into_iter().chain(with_folder.then_some(folder)).chain([title]).collect::<Vec<_>>()
    }));
    columns(&lines)
}

fn cost(row: &SessionRow) -> String {
    match row.spent.cost() {
        Cost::Unknown if row.spent.known().0 > 0 => format!("{} and more", row.spent.known()),
        Cost::Unknown => "?".to_owned(),
        known => known.to_string(),
    }
}

fn state(state: Standing) -> &'static str {
    match state {
        Standing::Open => "at work",
        Standing::Ended => "ended",
        Standing::CutOff => "cut off",
    }
}
