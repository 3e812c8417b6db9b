//! The transcripts of `t1_golden`, read by the vendors' own SDKs and checked against the types in them.

use crate::peer::run;
use crate::t1_golden::folder;

#[tokio::test]
async fn transcripts_are_as_the_vendors_types_say() {
    run("transcripts.py", &[folder().to_str().unwrap()]).await;
}

/// That what is wrong is found: else the test above would pass on anything.
#[tokio::test]
async fn transcripts_that_are_not_are_refused() {
    run("transcripts.py", &["--self-test", folder().to_str().unwrap()]).await;
}
