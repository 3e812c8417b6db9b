//! pending
use crate::args::{RewindArgs, UndoArgs};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
pub(crate) async fn rewind(_a: RewindArgs, _e: &Environment, _o: &Output) -> Result<Exit, Failure> {
    Err(Failure::usage("pending", "pending"))
}
pub(crate) async fn undo(_a: UndoArgs, _e: &Environment, _o: &Output) -> Result<Exit, Failure> {
    Err(Failure::usage("pending", "pending"))
}
