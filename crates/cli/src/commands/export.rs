//! pending
use crate::args::ExportArgs;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
pub(crate) fn run(_a: &ExportArgs, _e: &Environment, _o: &Output) -> Result<Exit, Failure> {
    Err(Failure::usage("pending", "pending"))
}
