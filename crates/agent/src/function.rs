//! A tool from a function.

use std::marker::PhantomData;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::{ToolCall, ToolSpec};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A tool that calls a function; [`tool`] makes one.
pub struct FunctionTool<A> {
    spec: ToolSpec,
    run: Box<dyn Fn(A, ToolCx) -> Fut<'static, ToolOutcome> + Send + Sync>,
    actions: Option<Box<Actions<A>>>,
    arguments: PhantomData<fn() -> A>,
}

type Actions<A> = dyn Fn(A, ToolCx) -> Fut<'static, Result<Vec<Action>, ToolError>> + Send + Sync;

/// A tool from an async function. Its arguments are a struct, from which the schema that the model sees
/// is derived: the comments on its fields are the descriptions of the parameters.
///
/// ```
/// use junto_agent::tool;
/// use junto_core::ToolCx;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Roll {
///     /// How many sides the die has
///     sides: u32,
/// }
///
/// let roll = tool("roll", "Throw a die.", |args: Roll, _cx: ToolCx| async move {
///     if args.sides == 0 {
///         return Err("a die needs sides");
///     }
///     Ok(format!("{}", 4 % args.sides + 1))
/// });
/// # drop(roll);
/// ```
///
/// A policy judges it by its name and arguments ([`Action::Tool`]), unless [`FunctionTool::acts`] says
/// what it does. What the function returns is what the model sees: a text, a result of one, or a whole
/// [`ToolOutcome`].
pub fn tool<A, R, O>(
    name: impl Into<String>,
    description: impl Into<String>,
    run: impl Fn(A, ToolCx) -> R + Send + Sync + 'static,
) -> FunctionTool<A>
where
    A: DeserializeOwned + JsonSchema,
    R: Future<Output = O> + Send + 'static,
    O: Into<ToolOutcome>,
{
    FunctionTool {
        spec: ToolSpec::foreign(name, description, parameters::<A>()),
        run: Box::new(move |arguments, cx| {
            let outcome = run(arguments, cx);
            Box::pin(async move { outcome.await.into() })
        }),
        actions: None,
        arguments: PhantomData,
    }
}

impl<A> FunctionTool<A> {
    /// Says what a call would do, so that a policy judges that and two calls that write one file wait
    /// for each other. This function changes nothing.
    pub fn acts<R>(mut self, actions: impl Fn(A, ToolCx) -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = Result<Vec<Action>, ToolError>> + Send + 'static,
    {
        self.actions = Some(Box::new(move |arguments, cx| Box::pin(actions(arguments, cx))));
        self
    }
}

impl<A: DeserializeOwned> Tool for FunctionTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        let read = arguments::<A>(call);
        match (read, &self.actions) {
            (Err(error), _) => Box::pin(async { Err(error) }),
            (Ok(arguments), Some(actions)) => actions(arguments, cx.clone()),
            (Ok(_), None) => {
                let action = Action::Tool { name: call.name.clone(), args: call.arguments.clone() };
                Box::pin(async { Ok(vec![action]) })
            }
        }
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        match arguments(permit.call()) {
            Ok(arguments) => (self.run)(arguments, cx.clone()),
            Err(error) => Box::pin(async move { ToolOutcome::error(error.to_string()) }),
        }
    }
}

/// The arguments of a call. The loop has checked them against the schema; somebody else may not have.
pub(crate) fn arguments<T: DeserializeOwned>(call: &ToolCall) -> Result<T, ToolError> {
    T::deserialize(&call.arguments).map_err(|error| ToolError(format!("bad arguments: {error}")))
}

/// The schema of a struct as tools have it: one object, without names and notes of Rust's.
fn parameters<A: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.remove("title");
        // A struct without fields has none to tell of.
        root.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    strip_formats(&mut schema);
    schema
}

/// Removes the formats by which Rust's numbers are told apart: no provider knows them, some refuse them.
fn strip_formats(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let of_rust = |format: &str| {
                format.starts_with("int")
                    || format.starts_with("uint")
                    || matches!(format, "float" | "double")
            };
            // A parameter may itself be called `format`; its schema is no text.
            if object.get("format").and_then(Value::as_str).is_some_and(of_rust) {
                object.remove("format");
            }
            object.values_mut().for_each(strip_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_formats),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use junto_core::{EventLog, Gate, Open, Via};
    use junto_env::LocalEnvironment;
    use serde::Deserialize;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Search {
        /// What to look for
        pattern: String,
        /// How many to give
        limit: Option<u32>,
        #[serde(default)]
        order: Order,
        format: Option<f64>,
    }

    #[derive(Default, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Order {
        #[default]
        Newest,
        Oldest,
    }

    #[test]
    fn the_schema_is_what_one_would_write_by_hand() {
        let expected = json!({
            "type": "object",
            "properties": {
                "pattern": {"description": "What to look for", "type": "string"},
                "limit": {"description": "How many to give", "type": ["integer", "null"], "minimum": 0},
                "order": {"type": "string", "enum": ["newest", "oldest"]},
                "format": {"type": ["number", "null"]}
            },
            "required": ["pattern"]
        });
        assert_eq!(parameters::<Search>(), expected);
    }

    async fn call<A: DeserializeOwned>(
        tool: &FunctionTool<A>,
        arguments: Value,
    ) -> (Vec<Action>, ToolOutcome) {
        let dir = tempfile::tempdir().unwrap();
        let cx = ToolCx::alone(Arc::new(LocalEnvironment::new(dir.path()).unwrap()));
        let call = ToolCall::function("c", &tool.spec().name, arguments.to_string());
        let actions = match tool.actions(&call, &cx).await {
            Ok(actions) => actions,
            Err(error) => return (vec![], ToolOutcome::error(error.to_string())),
        };
        let log = EventLog::in_memory(Arc::new(jiff::Timestamp::default));
        let gate = Gate::new(Arc::new(Open), log);
        let permit = gate.pass(call, actions.clone(), Via::Loop, &CancellationToken::new()).await.unwrap();
        (actions, tool.run(permit, &cx).await)
    }

    #[tokio::test]
    async fn a_function_is_called_with_its_arguments() {
        let search = || {
            tool("search", "Search.", |args: Search, _cx: ToolCx| async move {
                match args.order {
                    Order::Newest => Ok(format!("{} {:?} {:?}", args.pattern, args.limit, args.format)),
                    Order::Oldest => Err("there is nothing that old"),
                }
            })
        };
        let (actions, outcome) = call(&search(), json!({"pattern": "x", "limit": 3})).await;
        let args = json!({"pattern": "x", "limit": 3});
        assert_eq!(actions, [Action::Tool { name: "search".into(), args }]);
        assert_eq!(outcome, ToolOutcome::ok("x Some(3) None"));
        let (_, outcome) = call(&search(), json!({"pattern": "x", "order": "oldest"})).await;
        assert_eq!(outcome, ToolOutcome::error("there is nothing that old"));
        let (_, outcome) = call(&search(), json!({"pattern": 3})).await;
        assert!(outcome.is_error && outcome.output.preview().contains("bad arguments"), "{outcome:?}");

        let acting =
            search().acts(|args: Search, _cx| async move { Ok(vec![Action::Net { host: args.pattern }]) });
        let (actions, _) = call(&acting, json!({"pattern": "x"})).await;
        assert_eq!(actions, [Action::Net { host: "x".into() }]);
    }
}
