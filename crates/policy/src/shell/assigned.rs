//! Which variables have got a value for sure.

/// Variables that nobody can give a value.
const FIXED: [&str; 6] = ["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"];

/// The variables that have got a value at some place of a text in any case: whatever runs there, runs after that.
///
/// Where an expansion or an assignment fails, bash leaves the rest of that line and goes on with the next. What runs on the
/// same line has the value that is written there; what runs on a later one may have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Assigned {
    names: Vec<String>,
    /// How many of them there were before the first thing on this line that may fail.
    failing: Option<usize>,
    /// How many of them there were before this line.
    line: usize,
    /// Those on whose lines something may have failed.
    doubtful: Vec<String>,
    /// Those that take no other value.
    fixed: Vec<String>,
    /// Whether every pattern may fail.
    patterns_fail: bool,
    /// Whether the functions may fail.
    functions_fail: bool,
}

impl Assigned {
    /// Those of a text around this one.
    pub(super) fn inherit(&mut self, outer: &Self) {
        *self = Self { failing: None, line: outer.names.len(), ..outer.clone() };
    }

    pub(super) fn add(&mut self, names: impl IntoIterator<Item = String>) {
        self.names.extend(names);
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Forgets all but the first.
    pub(super) fn truncate(&mut self, length: usize) {
        self.names.truncate(length);
        self.failing = self.failing.map(|failing| failing.min(length));
    }

    /// Whether a variable has got a value, or has the one from before the line that is judged.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Whether a variable has got a value.
    pub(super) fn has_surely(&self, name: &str) -> bool {
        self.has(name) && !self.doubtful.iter().any(|own| own == name)
    }

    /// Something is next that may fail.
    pub(super) fn may_fail(&mut self) {
        self.failing.get_or_insert(self.names.len());
    }

    /// Something on this line may fail, perhaps before all that is on it.
    pub(super) fn may_fail_at_first(&mut self) {
        self.failing = Some(self.line.min(self.names.len()));
    }

    /// A variable is next that gets a value.
    pub(super) fn gets(&mut self, name: &str) {
        if FIXED.contains(&name) || self.fixed.iter().any(|own| own == name) {
            self.may_fail();
        }
    }

    /// A variable takes no other value from here on.
    pub(super) fn fix(&mut self, name: &str) {
        self.fixed.push(name.to_owned());
    }

    /// From here on patterns that stand for nothing fail.
    pub(super) fn patterns_fail(&mut self) {
        self.patterns_fail = true;
    }

    /// A function is next.
    pub(super) fn calls(&mut self) {
        if self.functions_fail {
            self.may_fail();
        }
    }

    /// Reads something that fails by itself, in a process of its own.
    pub(super) fn apart(&mut self) -> Option<usize> {
        self.failing.take()
    }

    pub(super) fn after_apart(&mut self, failing: Option<usize>) {
        self.failing = failing;
    }

    /// What has been read since is the body of a function.
    pub(super) fn after_body(&mut self, failing: Option<usize>) {
        self.functions_fail |= self.failing.is_some();
        self.failing = failing;
    }

    /// The line ends, and what follows runs in any case.
    pub(super) fn line_ends(&mut self) {
        let failing = if self.patterns_fail { Some(self.line) } else { self.failing };
        if let Some(failing) = failing {
            self.doubtful.extend_from_slice(self.names.get(failing..).unwrap_or_default());
        }
        self.failing = None;
        self.line = self.names.len();
    }

    pub(super) fn fails(&self) -> bool {
        self.failing.is_some()
    }
}
