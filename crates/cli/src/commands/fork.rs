//! pending
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::Output;
use junto::llm::SessionId;
pub(crate) fn fork(_id: &str, _at: Option<u32>, _e: &Environment, _o: &Output) -> Result<SessionId, Failure> {
    Err(Failure::usage("pending", "pending"))
}
