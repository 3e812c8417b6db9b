//! What the means of a machine leave open.

use std::fmt;

use serde::Serialize;

/// Something that a sandbox was to keep commands from, and that this machine cannot keep them from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// Files: there is neither Landlock nor bubblewrap.
    Files,
    /// System calls: there is no seccomp.
    SystemCalls,
    /// Settings in the working directory: they can be changed.
    Settings,
    /// Settings in the working directory that are symbolic links: these can be replaced.
    LinkedSettings,
    /// Settings of submodules, of which there are too many: they can be changed.
    Submodules,
    /// Secrets in the working directory: they can be read.
    Secrets,
    /// Secrets in a project that has too many files to be looked through: they can be read.
    Unsearched,
    /// Secrets in more directories than are held in their places: they can be read after these were moved.
    Moved,
    /// Modes, owners and times of files elsewhere: they can be changed.
    Modes,
    /// Signals to processes outside.
    Signals,
    /// Hosts that were not named: any is reached on the port of the proxy.
    Hosts,
    /// How many processes there are.
    Processes,
    /// How much a command takes.
    Limits,
    /// Sockets that were not named.
    Sockets,
}

impl Gap {
    /// What would close it.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Files => "Linux 6.2 with Landlock, or bubblewrap (the program bwrap)",
            Self::SystemCalls => "a kernel with seccomp",
            Self::Settings | Self::Secrets | Self::Modes | Self::Sockets => "bubblewrap (the program bwrap)",
            Self::Unsearched => "a working directory with fewer files",
            Self::Submodules => "a working directory in a repository with fewer submodules",
            Self::Moved => "a working directory with secrets in fewer folders",
            Self::LinkedSettings => "the settings themselves in the place of the links",
            Self::Signals => "Linux 6.12 with Landlock, or bubblewrap (the program bwrap)",
            Self::Hosts => "bubblewrap (the program bwrap) and a program to open a door in it",
            Self::Processes => "a user who is not root",
            Self::Limits => "the program prlimit (util-linux)",
        }
    }
}

/// As the end of a sentence: "commands can …".
impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "read and change any file",
            Self::SystemCalls => "make any system call",
            Self::Settings => "change .git, .junto and agents' settings in the working directory",
            Self::LinkedSettings => {
                "replace those of .git, .junto, agents' settings and folders of keys that are symbolic links"
            }
            Self::Submodules => "change settings of submodules, which were too many to be kept",
            Self::Secrets => "read secrets in the working directory, such as .env",
            Self::Moved => {
                "read secrets by moving the folders that they are in, which were too many to be held in place"
            }
            Self::Unsearched => {
                "read secrets among the files of the project, which were too many to be looked through"
            }
            Self::Modes => "change modes, owners and times of files outside",
            Self::Signals => "send signals to processes outside",
            Self::Hosts => "reach hosts that were not named, on the port of the proxy",
            Self::Processes => "start any number of processes",
            Self::Limits => "take as much as they like",
            Self::Sockets => "connect to Unix sockets that were not named",
        })
    }
}
