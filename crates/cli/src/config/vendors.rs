//! The providers that need no configuration: they are there as soon as their key is.

use crate::environment::Environment;

use junto::llm::vendor::{VENDORS, Vendor};

use super::settings::{KeyPath, Layer, Origin};

/// The built-in provider of this name.
pub(crate) fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

/// The settings a vendor has by itself in this environment.
pub(super) fn settings(vendor: &Vendor, environment: &Environment, into: &mut Layer) {
    let first = |names: &[&'static str]| names.iter().find_map(|name| Some((*name, environment.get(name)?)));
    let path = |below: &[&str]| KeyPath::of(&[&["providers", vendor.name], below].concat());
    into.set_text(path(&["wire"]), vendor.wire.name(), Origin::Default);
    match first(vendor.base_url_variables) {
        Some((name, url)) => into.set_text(path(&["base_url"]), url, Origin::Variable(name.to_owned())),
        None => into.set_text(path(&["base_url"]), vendor.base_url, Origin::Default),
    }
    let key = first(vendor.key_variables).map(|(name, _)| name).or(vendor.key_variables.first().copied());
    if let Some(key) = key {
        into.set_text(path(&["key_env"]), key, Origin::Default);
    }
    for (name, header) in vendor.headers {
        if let Some(value) = environment.get(name) {
            into.set_text(path(&["headers", header]), value, Origin::Variable((*name).to_owned()));
        }
    }
}
