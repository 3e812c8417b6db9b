//! What a server may ask of us and tell us while it is connected.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use junto_core::Caller;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;

/// How many characters of a note on progress are shown.
const NOTE: usize = 400;

/// Hears what a server says that answers nothing. It is asked for nothing: no capability is declared.
#[derive(Clone, Default)]
pub(crate) struct Ear(Arc<Heard>);

#[derive(Default)]
struct Heard {
    /// Set when the tools are others now.
    changed: Notify,
    /// Who watches which call.
    watchers: Mutex<HashMap<ProgressToken, Arc<dyn Caller>>>,
}

/// Watches a call until it is dropped.
pub(crate) struct Watch {
    ear: Ear,
    token: ProgressToken,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ear.watchers().remove(&self.token);
    }
}

impl Ear {
    /// Waits until the server says that its tools are others. However often it says so meanwhile, it is once.
    pub(crate) async fn tools_changed(&self) {
        self.0.changed.notified().await;
    }

    /// Shows a caller how far its call is.
    pub(crate) fn watch(&self, token: ProgressToken, caller: Arc<dyn Caller>) -> Watch {
        self.watchers().insert(token.clone(), caller);
        Watch { ear: self.clone(), token }
    }

    fn watchers(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, Arc<dyn Caller>>> {
        self.0.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let ours = Implementation::new("junto", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), ours)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let watcher = self.watchers().get(&params.progress_token).cloned();
        if let Some(caller) = watcher {
            let of = params.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let note: String = params.message.unwrap_or_default().chars().take(NOTE).collect();
            caller.show(format!("{}{of} {note}", params.progress).trim_end());
            caller.show("\n");
        }
    }
}
