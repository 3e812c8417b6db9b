//! An agent that acts by writing code: a prompt goes in, a stream of events comes out, and every call waits for an
//! answer.
//!
//! It is a view of a [`Session`](junto_agent::Session) with a kernel, for programs that rather hold an agent than
//! match its journal's events: the loop, the policy, the journal and the kernel are the same as everywhere.
//!
//! ```no_run
//! use junto::code_action::{Agent, AgentEventKind, Config, Options};
//! use junto::kernel::Interpreter;
//! use junto::{Code, Native};
//!
//! # async fn example(native: Native) -> Result<(), Box<dyn std::error::Error>> {
//! let code = Code::new(Interpreter::Kept("/home/me/.cache/junto/python".into()), "/run/user/1000/junto");
//! let agent = Agent::new(Config::new(native, code, "project"), Options::default())?;
//! agent.start().await?;
//! let mut turn = agent.stream("How many lines do the files here have, and which one has most?", None);
//! while let Some(event) = turn.next().await {
//!     match event?.kind {
//!         AgentEventKind::ApprovalRequest(request) => {
//!             // Whatever it is: somebody has to look at it.
//!             println!("{} {}", request.tool_name(), request.tool_args());
//!             request.approve(true).await?;
//!         }
//!         AgentEventKind::CodeExecutionOutput { text: Some(text), .. } => println!("{text}"),
//!         AgentEventKind::Response { content } => println!("{content}"),
//!         _ => {}
//!     }
//! }
//! agent.stop().await;
//! # Ok(()) }
//! ```
//!
//! # Approval
//! Without a policy each call is asked about: code actions, what their code calls and runs in a shell, and the model's
//! other tools, reading included. [`ApprovalRequest::approve`] with `false` ends the turn: the model is not asked again,
//! code that is running is told (an exception) and finishes first, whatever it makes of that.
//! [`ApprovalRequest::reject_with`] goes to the model instead, which goes on.
//!
//! # Sessions
//! With [`Config::persistence`] a session is kept by its id: one that is given and known is resumed, one that is given
//! and unknown begins, and without one a new id is made. Without persistence, naming one is an error.

mod agent;
mod approval;
mod ask;
mod config;
mod event;
mod images;
mod supervise;
mod turn;
mod turns;
mod view;

use junto_kernel::{EXECUTE_CODE, IMAGE_MARK, SHELL_LEAVE};

pub use self::agent::Agent;
pub use self::approval::ApprovalRequest;
pub use self::ask::AskAlways;
pub use self::config::{Config, Local, Options, SandboxConfig};
pub use self::event::{AgentEvent, AgentEventKind, ParentCall, Phase};
pub use self::turn::Turn;
