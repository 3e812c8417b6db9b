//! How a system is told of a service.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::failure::Failure;

/// How the service's file is known again.
pub(super) const MARK: &str = "Made by `junto gateway install`";

/// The service's name for systemd.
const UNIT: &str = "junto-gateway.service";
/// The service's name for launchd.
const LABEL: &str = "dev.junto.gateway";

/// Who runs services here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manager {
    Systemd,
    Launchd,
}

/// What runs, and with what. No key is part of it.
pub(super) struct Unit {
    /// This program.
    pub(super) program: PathBuf,
    /// The file with the keys.
    pub(super) keys: PathBuf,
    /// Where programs are, for routes to command-line agents.
    pub(super) path: Option<String>,
    /// The user's configuration, if it is not where it usually is.
    pub(super) config: Option<PathBuf>,
    /// Where it works, and command-line agents with it.
    pub(super) home: Option<PathBuf>,
}

impl Manager {
    /// The one of this machine.
    pub(super) fn of_machine() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Where the service's file is.
    ///
    /// # Errors
    /// If the user has no home.
    pub(super) fn file(self, environment: &Environment) -> Result<PathBuf, Failure> {
        let home = environment.path("HOME");
        let config = || environment.path("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let file = match self {
            Self::Systemd => config()
                .or_else(|| home.map(|home| home.join(".config")))
                .map(|folder| folder.join("systemd/user").join(UNIT)),
            Self::Launchd => {
                home.map(|home| home.join("Library/LaunchAgents").join(format!("{LABEL}.plist")))
            }
        };
        file.ok_or_else(|| Failure::usage("HOME is not set", "set it"))
    }

    /// What stands in it.
    pub(super) fn text(self, unit: &Unit) -> String {
        match self {
            Self::Systemd => systemd(unit),
            Self::Launchd => launchd(unit),
        }
    }

    /// The commands that start it, now and after each login.
    pub(super) fn start(self, file: &Path) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => vec![
                command(&["systemctl", "--user", "daemon-reload"]),
                command(&["systemctl", "--user", "enable", UNIT]),
                // Also one that runs already takes up what has changed.
                command(&["systemctl", "--user", "restart", UNIT]),
            ],
            Self::Launchd => vec![command(&["launchctl", "load", "-w", &file.display().to_string()])],
        }
    }

    /// The commands that stop it for good, while its file is there.
    pub(super) fn stop(self, file: &Path) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => vec![command(&["systemctl", "--user", "disable", "--now", UNIT])],
            Self::Launchd => vec![command(&["launchctl", "unload", "-w", &file.display().to_string()])],
        }
    }

    /// The command that succeeds while it runs.
    pub(super) fn ask(self) -> Vec<String> {
        match self {
            Self::Systemd => command(&["systemctl", "--user", "is-active", "--quiet", UNIT]),
            Self::Launchd => command(&["launchctl", "list", LABEL]),
        }
    }
}

fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn systemd(unit: &Unit) -> String {
    let path = |path: &Path| path.display().to_string().replace('%', "%%");
    let quoted =
        |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"));
    let program = quoted(&unit.program.display().to_string()).replace('$', "$$");
    let mut variables = String::new();
    for (name, value) in unit.variables() {
        let _ = writeln!(variables, "Environment={}", quoted(&format!("{name}={value}")));
    }
    // Two for each answer under way, of which there may be thousands; some systems allow no more than 4096 unasked.
    format!(
        "# {MARK}; `junto gateway uninstall` removes it.\n\
         [Unit]\nDescription=Junto gateway\n\n\
         [Service]\nExecStart={program} gateway\nWorkingDirectory=%h\nEnvironmentFile=-{}\n{variables}\
         Restart=on-failure\nRestartSec=2\nUMask=0077\nLimitNOFILE=65536\n\n\
         [Install]\nWantedBy=default.target\n",
        path(&unit.keys),
    )
}

fn launchd(unit: &Unit) -> String {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let keys = quoted(&unit.keys);
    let line = format!("set -a; [ ! -f {keys} ] || . {keys}; set +a; exec {} gateway", quoted(&unit.program));
    let home = unit.home.as_ref().map(|home| escaped(&home.display().to_string()));
    let home = home.map(|home| format!("  <key>WorkingDirectory</key><string>{home}</string>\n"));
    let home = home.unwrap_or_default();
    let mut variables = String::new();
    for (name, value) in unit.variables() {
        let _ = writeln!(variables, "    <key>{name}</key><string>{}</string>", escaped(&value));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {MARK}; `junto gateway uninstall` removes it. -->\n\
         <plist version=\"1.0\">\n<dict>\n\
         \x20 <key>Label</key><string>{LABEL}</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n\
         \x20   <string>/bin/sh</string><string>-c</string>\n    <string>{}</string>\n  </array>\n\
         \x20 <key>EnvironmentVariables</key>\n  <dict>\n{variables}  </dict>\n\
         {home}\x20 <key>RunAtLoad</key><true/>\n\
         \x20 <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n\
         \x20 <key>Umask</key><integer>63</integer>\n\
         </dict>\n</plist>\n",
        escaped(&line),
    )
}

impl Unit {
    fn variables(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let path = self.path.clone().map(|path| ("PATH", path));
        let config = self.config.as_ref().map(|config| ("JUNTO_CONFIG", config.display().to_string()));
        path.into_iter().chain(config)
    }
}

/// A text as XML takes it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit() -> Unit {
        Unit {
            program: "/opt/my $100% \"tools\"/junto".into(),
            keys: "/home/a b/.config/junto/gateway.env".into(),
            path: Some("/usr/bin:/a & b".to_owned()),
            config: Some("/c.toml".into()),
            home: Some("/Users/me".into()),
        }
    }

    #[test]
    fn systemd_is_told_with_its_own_quotes() {
        assert_eq!(
            Manager::Systemd.text(&unit()),
            "# Made by `junto gateway install`; `junto gateway uninstall` removes it.\n\
             [Unit]\nDescription=Junto gateway\n\n\
             [Service]\nExecStart=\"/opt/my $$100%% \\\"tools\\\"/junto\" gateway\n\
             WorkingDirectory=%h\nEnvironmentFile=-/home/a b/.config/junto/gateway.env\n\
             Environment=\"PATH=/usr/bin:/a & b\"\nEnvironment=\"JUNTO_CONFIG=/c.toml\"\n\
             Restart=on-failure\nRestartSec=2\nUMask=0077\nLimitNOFILE=65536\n\n[Install]\nWantedBy=default.target\n"
        );
    }

    #[test]
    fn launchd_is_told_in_xml() {
        let text = Manager::Launchd.text(&unit());
        for part in [
            "<!-- Made by `junto gateway install`;",
            "<string>set -a; [ ! -f '/home/a b/.config/junto/gateway.env' ] || . '/home/a b/.config/junto/gateway.env'; \
             set +a; exec '/opt/my $100% \"tools\"/junto' gateway</string>",
            "<key>PATH</key><string>/usr/bin:/a &amp; b</string>",
            "<key>Label</key><string>dev.junto.gateway</string>",
            "  <key>WorkingDirectory</key><string>/Users/me</string>\n  <key>RunAtLoad</key>",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(text.matches("<dict>").count(), text.matches("</dict>").count());
        assert!(text.contains(MARK));
    }

    #[test]
    fn each_has_its_place_and_its_commands() {
        let environment = Environment::of(Path::new("/"), &[("HOME", "/home/me")]);
        let file = |manager: Manager| manager.file(&environment).unwrap();
        assert_eq!(file(Manager::Systemd), Path::new("/home/me/.config/systemd/user/junto-gateway.service"));
        assert_eq!(
            file(Manager::Launchd),
            Path::new("/home/me/Library/LaunchAgents/dev.junto.gateway.plist")
        );
        for manager in [Manager::Systemd, Manager::Launchd] {
            let file = file(manager);
            let steps = [manager.start(&file), manager.stop(&file), vec![manager.ask()]].concat();
            assert!(steps.iter().all(|step| step[0].ends_with("ctl")), "{steps:?}");
        }
    }
}
