//! Tools as modules, imported by code in a real kernel.

use junto_core::{Action, Tool, ToolCall};
use junto_kernel::ToolClient;
use serde_json::json;

use crate::library::{MEETING, Reading, giving, listed, saver};

#[tokio::test]
async fn a_tool_is_imported_called_and_gives_what_its_schema_says() {
    let reading = Reading::new().await;
    let check =
        async |code: &str, expected: &str| assert_eq!(reading.printed(code).await, expected, "{code}");
    check("from mcptools.git_hub import create_issue\nissue = create_issue('x', from_='me')", "").await;
    check("issue.number, issue.state, issue.class_, issue['class']", "(7, 'open', 'bug', 'bug')").await;
    check("issue.labels[0].name, issue.parent.number, type(issue) is create_issue.Result", "('x', 1, True)")
        .await;
    check("issue.more", "{'title': 'x', 'from': 'me'}").await;
    // What may be left out and is None is left out, unless null is one of its values.
    check("create_issue(title='x', labels=None, parent=None).more", "{'title': 'x', 'parent': None}").await;
    check("create_issue(title='x', **{'from': 'me'}).more", "{'title': 'x', 'from': 'me'}").await;
    let params = "p = create_issue.Params(title='y', labels=[create_issue.LabelsItem(name='l')], from_='z')";
    check(
        &format!("{params}\ncreate_issue.run(p).more"),
        "{'title': 'y', 'from': 'z', 'labels': [{'name': 'l'}]}",
    )
    .await;
    check(
        "from mcptools.git_hub.create_issue import run, Params, Result\nrun(Params(title='t')).number",
        "7",
    )
    .await;
    check("await create_issue.run_async('x')", &reading.printed("issue2 = create_issue('x'); issue2").await)
        .await;
    check("print(create_issue.__doc__)", "Create an issue. Then it is there.\n\ntitle: What it is about\n")
        .await;
    check(
        "import inspect; print(inspect.signature(create_issue))",
        "(title: 'str', from_: 'str' = Ellipsis, labels: 'list[create_issue.LabelsItem]' = Ellipsis, parent: 'int | \
         None' = Ellipsis) -> 'create_issue.Result'\n",
    )
    .await;
    // What does not fit is given as it came, and told.
    let said = crate::kernels::cell(&reading.kernel, "create_issue('odd')").await;
    assert_eq!(said.result.as_deref(), Some("{'number': 'seven'}"));
    assert!(said.stderr.contains("does not fit its own schema"), "{}", said.stderr);
    reading.end().await;
}

#[tokio::test]
async fn any_name_is_importable_and_no_text_breaks_out() {
    let reading = Reading::new().await;
    let check =
        async |code: &str, expected: &str| assert_eq!(reading.printed(code).await, expected, "{code}");
    check("import mcptools.odd as odd; len(odd.__all__)", "6").await;
    check("odd.a_b(n=1)", "'odd__a-b {\"n\":1}'").await;
    check("[n for n in odd.__all__ if n.startswith('a_b_')][0][:4]", "'a_b_'").await;
    check("getattr(odd, [n for n in odd.__all__ if n.startswith('a_b_')][0])(n=2)", "'odd__a.b {\"n\":2}'")
        .await;
    check("odd.import_(text='x')", "'odd__import {\"text\":\"x\"}'").await;
    check("odd.print()", "'odd__print {}'").await;
    check("odd.tool_getattr__()", "'odd____getattr__ {}'").await;
    check("odd.anything(a=1, b=None)", "'odd__anything {\"a\":1,\"b\":null}'").await;
    check("odd.print.__doc__", "'\"\"\"\\nimport os; os._exit(3)\\n\\\\'").await;
    check("from mcptools import junto; junto.echo('a', 2)", "'echo {\"text\":\"a\",\"n\":2}'").await;
    check("junto.free('as it is')", "'free as it is'").await;
    check("hasattr(junto, 'execute_code')", "False").await;
    check("from mcptools.junto import *; echo(n=3)", "'echo {\"n\":3}'").await;
    check("import mcptools; mcptools.odd.print()", "'odd__print {}'").await;
    reading.end().await;
}

#[tokio::test]
async fn a_folder_of_the_project_is_not_taken_for_the_tools() {
    let reading = Reading::new().await;
    std::fs::create_dir(reading.place.work().join("mcptools")).unwrap();
    std::fs::write(reading.place.work().join("mcptools/__init__.py"), "raise ValueError('another')").unwrap();
    std::fs::write(reading.place.work().join("mcptools/junto.py"), "def echo(**_): return 'another'")
        .unwrap();
    let code = "import sys\nsys.path.insert(0, '')\nfrom mcptools.junto import echo\necho(n=1)";
    assert_eq!(reading.printed(code).await, "'echo {\"n\":1}'");
    reading.end().await;
}

#[tokio::test]
async fn a_number_that_would_become_another_on_the_way_is_refused() {
    let reading = Reading::new().await;
    reading.printed("from mcptools.junto import echo").await;
    for code in
        ["echo(n=2**70)", "echo(text=[{'a': -2**70}])", "echo(n=2**64)", "await echo.run_async(n=2**70)"]
    {
        let (name, value) = reading.raised(code).await;
        assert!(name == "ToolsUnavailable" && value.contains("64 bits"), "{code}: {name}: {value}");
    }
    assert!(reading.library.calls.lock().unwrap().is_empty());
    assert_eq!(reading.printed("echo(n=2**64 - 1)").await, "'echo {\"n\":18446744073709551615}'");
    assert_eq!(
        reading.printed("echo(text=str(2**70))").await,
        "'echo {\"text\":\"1180591620717411303424\"}'"
    );
    // What came with one is given as its text.
    reading.printed("from mcptools.git_hub import create_issue").await;
    let code = "import warnings\nwith warnings.catch_warnings(record=True) as told:\n    \
                warnings.simplefilter('always')\n    given = create_issue(title='vast')\n\
                print(type(given).__name__, '64 bits' in str(told[0].message))";
    assert_eq!(reading.printed(code).await, "str True\n");
    // A large number that is none of the whole ones is what it is.
    let code = "large = create_issue(title='large')\ntype(large).__name__, large.mass, large.number";
    assert_eq!(reading.printed(code).await, "('Result', 6.022e+23, 7)");
    reading.end().await;
}

#[tokio::test]
async fn what_goes_wrong_raises() {
    let reading = Reading::new().await;
    let check = async |code: &str, name: &str, part: &str| {
        let (raised, said) = reading.raised(code).await;
        assert!(raised == name && said.contains(part), "{code}: {raised}: {said}");
    };
    check("from mcptools.junto import fail; fail()", "ToolError", "no luck").await;
    check("from mcptools.junto import refuse; refuse()", "ToolRejected", "not today").await;
    check("import mcptools.nothing", "ModuleNotFoundError", "There are: mcptools.junto").await;
    check("from mcptools.junto import nothing", "ImportError", "nothing").await;
    check("import mcptools.junto.nothing", "ModuleNotFoundError", "nothing").await;
    check("from mcptools.junto import echo; echo(1, 2, 3)", "TypeError", "too many").await;
    check("echo(wrong=1)", "TypeError", "wrong").await;
    check("echo(float('nan'))", "ValueError", "JSON").await;
    check("echo(object())", "TypeError", "cannot be passed").await;
    check("echo('\\udc80')", "UnicodeEncodeError", "surrogates").await;
    check("from mcptools.git_hub import create_issue; create_issue()", "TypeError", "title").await;
    check("import gentools.none", "ModuleNotFoundError", "gentools.none").await;
    let execute = "import junto_tools; junto_tools.session().call('execute_code', {})";
    check(execute, "ToolsUnavailable", "cannot be called from code").await;
    // A rejection that is caught, and then another call.
    let caught = "try:\n    refuse()\nexcept Exception as error:\n    print(type(error).__mro__[1].__name__, echo(n=1))";
    assert_eq!(reading.printed(caught).await, "ToolError echo {\"n\":1}\n");
    reading.end().await;
}

#[tokio::test]
async fn tools_that_come_late_are_there_at_once() {
    let reading = Reading::new().await;
    reading.printed("import mcptools.junto, mcptools.odd").await;
    let any = json!({"type": "object", "properties": {}});
    {
        let mut shelf = reading.library.listed.lock().unwrap();
        shelf.push(listed("late", "hello", "", any.clone()));
        shelf.push(listed("odd", "newer", "", any.clone()));
        shelf.push(listed("odd", "newest", "", any));
        shelf.retain(|tool| tool.spec.name != "odd__print");
    }
    assert_eq!(reading.printed("from mcptools.late import hello; hello()").await, "'late__hello {}'");
    assert_eq!(reading.printed("from mcptools.odd import newer; newer()").await, "'odd__newer {}'");
    assert_eq!(
        reading.printed("import mcptools.odd.newest; mcptools.odd.newest()").await,
        "'odd__newest {}'"
    );
    assert_eq!(reading.printed("hasattr(mcptools.odd, 'print')").await, "False");
    reading.end().await;
}

#[tokio::test]
async fn threads_and_tasks_call_at_once() {
    let reading = Reading::new().await;
    let threads = format!(
        "from concurrent.futures import ThreadPoolExecutor\nfrom mcptools.junto import meet, echo\n\
         with ThreadPoolExecutor({MEETING}) as pool: print(set(pool.map(lambda _: meet(), range({MEETING}))))"
    );
    assert_eq!(reading.printed(&threads).await, "{'met'}\n");
    let tasks = format!(
        "import asyncio\nprint(set(await asyncio.gather(*[meet.run_async() for _ in range({MEETING})])))\n\
         said = await asyncio.gather(*[echo.run_async(n=n) for n in range(200)])\n\
         print(all(said[n] == 'echo {{\"n\":%d}}' % n for n in range(200)))"
    );
    assert_eq!(reading.printed(&tasks).await, "{'met'}\nTrue\n");
    // A task that is cancelled ends its call, and nothing else.
    let cancelled = "from mcptools.junto import block\ntask = asyncio.ensure_future(block.run_async())\n\
                     await asyncio.sleep(0)\nawait echo.run_async()\ntask.cancel()\n\
                     try: await task\nexcept asyncio.CancelledError: print('cancelled', echo())";
    assert_eq!(reading.printed(cancelled).await, "cancelled echo {}\n");
    reading.library.dropped(1).await;
    reading.end().await;
}

#[tokio::test]
async fn code_finds_its_tools() {
    let reading = Reading::new().await;
    let check =
        async |code: &str, expected: &str| assert_eq!(reading.printed(code).await, expected, "{code}");
    check(
        "from junto_tools import *\nlist_categories()",
        "{'mcptools.junto': 6, 'mcptools.git_hub': 1, 'mcptools.odd': 6}",
    )
    .await;
    check("list_tools('mcptools.git_hub')", "{'mcptools.git_hub.create_issue': 'Create an issue.'}").await;
    check("list_tools('git_hub') == list_tools('mcptools.git_hub')", "True").await;
    check("list(search_tools('creating issues'))[0]", "'mcptools.git_hub.create_issue'").await;
    check("list(search_tools('createIssue', 1))", "['mcptools.git_hub.create_issue']").await;
    check("search_tools('\" OR * NEAR('), search_tools('zebra'), search_tools('')", "({}, {}, {})").await;
    let signature = reading.printed("print(signature('git_hub.create_issue'))").await;
    assert!(
        signature.starts_with("from mcptools.git_hub import create_issue\n\ndef create_issue(title: str, "),
        "{signature}"
    );
    assert!(signature.contains("class Result(Model):\n    number: int\n"), "{signature}");
    let (name, said) = reading.raised("signature('git_hub.create_isue')").await;
    assert!(name == "ToolsUnavailable" && said.contains("did you mean `create_issue`"), "{said}");
    assert_eq!(reading.discovery.categories().len(), 3);
    reading.end().await;
}

#[tokio::test]
async fn code_that_is_kept_is_a_tool() {
    let reading = Reading::new().await;
    let code = "\"\"\"Adds numbers.\"\"\"\ndef run(a: int, b: int = 1) -> int:\n    return a + b\n";
    let (saver, cx) = saver(&reading.place);
    let call = |category: &str, name: &str, code: &str| {
        let arguments = json!({"category": category, "name": name, "code": code});
        ToolCall::function("c", "save_code_tool", arguments.to_string())
    };
    let file = reading.place.work().join("gentools/sums/add/__init__.py");
    match saver.actions(&call("sums", "add", code), &cx).await.unwrap().as_slice() {
        [Action::Write { path }] => assert_eq!(path.as_path(), file),
        other => panic!("{other:?}"),
    }
    for (category, name, code) in
        [("..", "add", code), ("sums", "a/b", code), ("sums", "import", code), ("sums", "add", "x = 1")]
    {
        assert!(saver.actions(&call(category, name, code), &cx).await.is_err(), "{category} {name} {code}");
    }
    let outside = reading.place.dir.path().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::create_dir_all(reading.place.work().join("gentools")).unwrap();
    std::os::unix::fs::symlink(&outside, reading.place.work().join("gentools/link")).unwrap();
    let refused = saver.actions(&call("link", "add", code), &cx).await.unwrap_err();
    assert!(refused.to_string().contains("is not in the folder"), "{refused}");

    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, code).unwrap();
    assert_eq!(reading.printed("from gentools.sums.add import run; run(2)").await, "3");
    assert_eq!(
        reading.printed("from junto_tools import *; list_tools('gentools.sums')").await,
        "{'gentools.sums.add': 'Adds numbers.'}"
    );
    assert_eq!(
        reading.printed("print(signature('gentools.sums.add'))").await,
        "from gentools.sums.add import run\n\ndef run(a: int, b: int = 1) -> int:\n    \"\"\"Adds numbers.\"\"\"\n\n"
    );
    // From code it is a call like any other, and code that is none is not saved.
    assert_eq!(reading.raised("save_tool('sums', 'add', 'def run(')").await.0, "SyntaxError");
    let said = reading.printed("save_tool('sums', 'add', 'def run(): pass')").await;
    assert!(said.starts_with("'save_code_tool {\"category\":\"sums\""), "{said}");
    // The next cell that imports it has what is there then, also if it was saved elsewhere, and from another of its files.
    for (text, inner) in [
        ("def run(): return 'new'", ""),
        ("def run(): return 'newer'", ""),
        ("from .api import run", "inner"),
    ] {
        std::fs::write(&file, text).unwrap();
        std::fs::write(file.with_file_name("api.py"), format!("def run(): return '{inner}'")).unwrap();
        let said = if inner.is_empty() { text.split('\'').nth(1).unwrap() } else { inner };
        let imported = reading.printed("from gentools.sums.add import run; run()").await;
        assert_eq!(imported, format!("'{said}'"));
        assert_eq!(reading.printed("from gentools.sums import add; add.run()").await, imported);
    }
    std::fs::write(file.with_file_name("api.py"), "def run(): return 'changed'").unwrap();
    assert_eq!(reading.printed("run()").await, "'inner'");
    assert_eq!(reading.printed("from gentools.sums.add import run; run()").await, "'changed'");
    // What has not changed is the same module.
    reading.printed("import gentools.sums.add as module; module.kept = 1").await;
    assert_eq!(reading.printed("import gentools.sums.add as module; module.kept").await, "1");
    reading.end().await;
}

/// What people would put into a description to get out of it, and names that nobody should use.
const HOSTILE: &[&str] = &[
    "\"\"\"",
    "\\\"\"\"\nimport os\nos._exit(3)\n\"\"\"",
    "\\",
    "\\N{BULLET} \\x \\u12",
    "'''",
    "\0\r\n\u{b}\u{2028}\u{202e}",
    "a: str = __import__('os')._exit(3), b",
    "):\n    import os\ndef f(",
    "{x!r} %s {0}",
    "self",
    "cls",
    "str",
    "list",
    "None",
    "model_dump",
    "model_config",
    "__init__",
    "__class__",
    "_more",
    "text",
    "copy",
    "json",
    "Params",
    "Any",
    "ünïcödé 🎉",
    "",
];

#[tokio::test]
async fn whatever_a_server_says_is_python_and_stays_where_it_belongs() {
    let reading = Reading::new().await;
    {
        let mut shelf = reading.library.listed.lock().unwrap();
        shelf.clear();
        for (n, text) in HOSTILE.iter().enumerate() {
            let other = |m: usize| HOSTILE[(n + m) % HOSTILE.len()];
            let mut properties = serde_json::Map::new();
            for m in 0..6 {
                let inner = json!({"type": "object", "title": other(m), "description": text, "properties": {
                    other(m): {"type": "string", "default": text}, other(m + 1): {"enum": HOSTILE}}});
                properties.insert(other(m).to_owned(), inner);
            }
            let schema = json!({"type": "object", "description": text, "properties": properties,
                "required": [other(0), other(1)]});
            let server = format!("server {}", HOSTILE[n % 7]);
            shelf.push(giving(listed(&server, text, text, schema.clone()), schema));
        }
    }
    let code = "
import importlib, inspect, junto_tools
count = 0
for category in junto_tools.list_categories():
    module = importlib.import_module(category)
    for name in module.__all__:
        tool = getattr(module, name)
        assert tool.Params and tool.Result and tool.__name__ == f'{category}.{name}', name
        given = [n for n, p in inspect.signature(tool).parameters.items() if p.default is p.empty]
        said = tool(**{n: {} for n in given})
        assert said.startswith(tool._call + ' {'), said
        assert junto_tools.signature(f'{category}.{name}')
        count += 1
print(count)";
    assert_eq!(reading.printed(code).await, format!("{}\n", HOSTILE.len()));
    let calls = reading.library.calls.lock().unwrap().clone();
    let mut called: Vec<String> = calls.into_iter().map(|call| call.name).collect();
    let there = reading.library.listed.lock().unwrap().clone();
    let mut there: Vec<String> = there.into_iter().map(|tool| tool.spec.name).collect();
    called.sort();
    there.sort();
    assert_eq!(called, there, "each was called by its own name");
    reading.end().await;
}

#[tokio::test]
async fn the_token_of_another_kernel_does_not_open() {
    let (one, two) = (Reading::new().await, Reading::new().await);
    let code = format!(
        "import junto_tools\njunto_tools.connect({:?}, {:?})",
        one.socket.path().display().to_string(),
        two.socket.token()
    );
    let (name, said) = two.raised(&code).await;
    assert!(name == "ToolsUnavailable" && said == "the token is wrong", "{name}: {said}");
    assert!(ToolClient::connect(two.socket.path(), one.socket.token()).await.is_err());
    one.end().await;
    two.end().await;
}
