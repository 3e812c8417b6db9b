//! The vendors' own tools, by family.

use std::sync::Arc;

use junto_core::Tool;

use super::{Family, builtin};
use crate::tools::Timeouts;

/// The tools of a family under the vendor's names, with the vendor's schemas, arguments and results.
pub(super) fn tools(family: Family, timeouts: Timeouts) -> Vec<Arc<dyn Tool>> {
    builtin::tools(family, timeouts)
}
