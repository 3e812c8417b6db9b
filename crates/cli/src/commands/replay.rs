//! pending
use crate::args::ReplayArgs;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
pub(crate) async fn run(_a: ReplayArgs, _e: &Environment, _o: &Output) -> Result<Exit, Failure> {
    Err(Failure::usage("pending", "pending"))
}
