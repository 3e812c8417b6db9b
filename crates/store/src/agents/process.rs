//! Which process it is: its number, and what no later process of that number has in common with it.

/// This process, as no other can be called.
pub(super) fn own() -> String {
    let pid = std::process::id();
    identity(pid).unwrap_or_else(|| pid.to_string())
}

/// Whether the process that was called so lives. Where that cannot be told, it does not: the lock tells then.
pub(super) fn is_alive(called: &str) -> bool {
    pid(called).and_then(identity).is_some_and(|now| now == called)
}

/// The number in what a process is called.
pub(super) fn pid(called: &str) -> Option<u32> {
    called.split(':').next()?.parse().ok()
}

/// What a living process is called: its number, its start in ticks since the machine's, and that of the machine.
fn identity(pid: u32) -> Option<String> {
    let facts = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it is in brackets, and may have any character in it.
    let (_, rest) = facts.rsplit_once(") ")?;
    if rest.starts_with(['Z', 'X']) {
        return None;
    }
    let start = rest.split_whitespace().nth(19)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{pid}:{start}:{}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_one_that_has_its_number_later() {
        let own = own();
        assert!(is_alive(&own), "{own}");
        assert_eq!(pid(&own), Some(std::process::id()));
        let mut parts: Vec<&str> = own.split(':').collect();
        parts[1] = "1";
        assert!(!is_alive(&parts.join(":")), "another start");
        assert!(!is_alive(&std::process::id().to_string()), "a number alone is nobody");
        assert!(!is_alive("8388608:1:x") && !is_alive(""));
    }
}
