//! What whoever runs the gateway is told of the gateway itself.

/// Who is told.
pub(crate) type Warn = Box<dyn Fn(&str) + Send + Sync>;

/// The way there; nobody in it leaves it to `tracing`.
#[derive(Default)]
pub(crate) struct Warnings(pub(crate) Option<Warn>);

impl Warnings {
    pub(crate) fn tell(&self, text: &str) {
        if let Some(warn) = &self.0 {
            warn(text);
        } else {
            tracing::warn!("{text}");
        }
    }
}
