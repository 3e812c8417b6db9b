//! Types of tools where pydantic is there.

use std::process::Command;

use crate::library::Reading;

/// Where a Python that the developer's commands keep has its packages, pydantic among them.
fn packages() -> String {
    let python =
        std::env::var_os("JUNTO_PEER_PYTHON").expect("JUNTO_PEER_PYTHON; `cargo xtask test` sets it");
    let find = "import os, pydantic; print(os.path.dirname(os.path.dirname(pydantic.__file__)), end='')";
    let output = Command::new(python).args(["-c", find]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn types_are_models_of_pydantic() {
    let reading = Reading::new().await;
    let check =
        async |code: &str, expected: &str| assert_eq!(reading.printed(code).await, expected, "{code}");
    check(&format!("import sys; sys.path.append({:?})", packages()), "").await;
    check("from mcptools.git_hub import create_issue; 'pydantic' in sys.modules", "False").await;
    check(
        "issue = create_issue('x', from_='me')\nimport pydantic; isinstance(issue, pydantic.BaseModel)",
        "True",
    )
    .await;
    check("issue.number, issue.state, issue.class_, issue['class']", "(7, 'open', 'bug', 'bug')").await;
    check(
        "issue.labels[0].name, issue.parent.number, issue['more']",
        "('x', 1, {'title': 'x', 'from': 'me'})",
    )
    .await;
    let params =
        "create_issue.Params(title='y', labels=[create_issue.LabelsItem(name='l')], from_='z', parent=None)";
    check(
        &format!("create_issue({params}).more"),
        "{'title': 'y', 'from': 'z', 'labels': [{'name': 'l'}], 'parent': None}",
    )
    .await;
    check("create_issue('t', labels=[create_issue.LabelsItem(name='l')]).more['labels']", "[{'name': 'l'}]")
        .await;
    let (name, said) = reading.raised("create_issue.Params(title=[1])").await;
    assert!(name == "ValidationError" && said.contains("title"), "{name}: {said}");
    let odd = crate::kernels::cell(&reading.kernel, "create_issue('odd')").await;
    assert_eq!(odd.result.as_deref(), Some("{'number': 'seven'}"));
    assert!(odd.stderr.contains("does not fit its own schema"), "{}", odd.stderr);
    reading.end().await;
}
