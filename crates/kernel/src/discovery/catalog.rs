//! Tools by module and name.

use junto_core::{Listed, nearest};
use serde_json::Value;

use super::{Category, FoundTool, ModuleSource};
use crate::codegen::{self, ModuleTool};
use crate::gentools::GenTool;

/// The module with the tools of servers, and our own in it.
const SERVERS: &str = "mcptools";
const OWN: &str = "junto";
/// The module with the tools that were written in Python.
const WRITTEN: &str = "gentools";

/// The tools at a moment, with their names in Python.
pub(super) struct Catalog {
    modules: Vec<Module>,
}

struct Module {
    /// For instance `mcptools.github`.
    name: String,
    /// What the server is called; empty for our own.
    server: String,
    tools: Vec<Entry>,
}

struct Entry {
    name: String,
    kind: Kind,
}

enum Kind {
    Listed(Box<Listed>),
    Written(Box<GenTool>),
}

/// What is searched of a tool.
pub(super) struct Searched {
    pub(super) name: String,
    pub(super) module: String,
    pub(super) description: String,
    pub(super) parameters: String,
}

impl Searched {
    /// All of it, as one text.
    pub(super) fn text(self) -> String {
        let Self { name, module, description, parameters } = self;
        format!("{name} ({module}): {description}\nParameters: {parameters}")
    }
}

impl Entry {
    fn description(&self) -> &str {
        match &self.kind {
            Kind::Listed(listed) => &listed.spec.description,
            Kind::Written(written) => &written.scanned.doc,
        }
    }

    fn module_tool(&self) -> Option<ModuleTool<'_>> {
        match &self.kind {
            Kind::Listed(listed) => Some(ModuleTool {
                name: &self.name,
                spec: &listed.spec,
                output: listed.listing.output.as_deref(),
            }),
            Kind::Written(_) => None,
        }
    }
}

impl Catalog {
    pub(super) fn of(listed: &[Listed], written: &[GenTool]) -> Self {
        let server = |tool: &Listed| tool.listing.origin.as_ref().map(|origin| origin.server.clone());
        let mut servers: Vec<String> = listed.iter().filter_map(server).collect();
        servers.sort_unstable();
        servers.dedup();
        let names = codegen::unique(&servers.iter().map(String::as_str).collect::<Vec<_>>(), &[OWN]);
        let own = Module::of(OWN, String::new(), listed.iter().filter(|tool| server(tool).is_none()));
        let mut modules = vec![own];
        for (name, of) in names.iter().zip(servers) {
            let its = listed.iter().filter(|tool| server(tool).as_ref() == Some(&of));
            modules.push(Module::of(name, of.clone(), its));
        }
        modules.extend(categories(written));
        modules.retain(|module| !module.tools.is_empty());
        Self { modules }
    }

    pub(super) fn categories(&self) -> Vec<Category> {
        let category = |module: &Module| Category { module: module.name.clone(), tools: module.tools.len() };
        self.modules.iter().map(category).collect()
    }

    pub(super) fn tools(&self, module: &str) -> Result<Vec<FoundTool>, String> {
        let module = self.find(module)?;
        Ok(module.tools.iter().map(|tool| found(module, tool)).collect())
    }

    /// The tool at a place in the order of [`Catalog::searched`].
    pub(super) fn found(&self, place: usize) -> Option<FoundTool> {
        let mut all =
            self.modules.iter().flat_map(|module| module.tools.iter().map(move |tool| (module, tool)));
        all.nth(place).map(|(module, tool)| found(module, tool))
    }

    pub(super) fn searched(&self) -> impl Iterator<Item = Searched> + '_ {
        self.modules.iter().flat_map(|module| module.tools.iter().map(move |tool| searched(module, tool)))
    }

    pub(super) fn signature(&self, name: &str) -> Result<String, String> {
        let (module, tool) = name.rsplit_once('.').ok_or_else(|| {
            format!("`{name}` names no tool: it is `module.tool`, for instance `{SERVERS}.{OWN}.read_file`")
        })?;
        let module = self.find(module)?;
        let entry = module.entry(tool)?;
        match &entry.kind {
            Kind::Written(written) => {
                let head = written.scanned.signature.as_deref().unwrap_or_default();
                let doc = written.scanned.doc.replace('\n', "\n    ");
                Ok(format!(
                    "from {}.{} import run\n\n{head}:\n    \"\"\"{doc}\"\"\"\n",
                    module.name, entry.name
                ))
            }
            Kind::Listed(_) => {
                let tool = entry.module_tool().map(|tool| codegen::signature(&module.name, tool));
                Ok(tool.unwrap_or_default())
            }
        }
    }

    pub(super) fn module(&self, name: &str) -> Result<ModuleSource, String> {
        let package = |text: String| ModuleSource { text, file: None, is_package: true };
        if name == SERVERS {
            let doc = "The tools of servers, a module for each, and junto's own in `junto`.";
            return Ok(package(codegen::of_server(doc, &[])));
        }
        let of_tool = name.rsplit_once('.').filter(|(module, _)| module.contains('.'));
        if let Some((module, tool)) = of_tool {
            let types = self.find(module)?.entry(tool)?.module_tool().map(codegen::of_types);
            let text = types.ok_or_else(|| format!("there is no module `{name}`"))?;
            return Ok(ModuleSource { text, file: None, is_package: false });
        }
        let module = self.find(name)?;
        let tools: Vec<ModuleTool<'_>> = module.tools.iter().filter_map(Entry::module_tool).collect();
        let doc = match module.server.as_str() {
            "" => "Tools of junto itself.".to_owned(),
            server => format!("Tools of the server {server}."),
        };
        Ok(package(codegen::of_server(&doc, &tools)))
    }

    /// A module, with or without what is before its own name.
    fn find(&self, name: &str) -> Result<&Module, String> {
        let is_meant = |module: &&Module| {
            module.name == name || module.name.split_once('.').is_some_and(|(_, own)| own == name)
        };
        self.modules.iter().find(is_meant).ok_or_else(|| {
            let known: Vec<&str> = self.modules.iter().map(|module| module.name.as_str()).collect();
            let near = nearest(name, known.iter().copied());
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("there is no module `{name}`{near} There are: {}", known.join(", "))
        })
    }
}

impl Module {
    fn of<'a>(name: &str, server: String, tools: impl Iterator<Item = &'a Listed>) -> Self {
        let tools: Vec<&Listed> = tools.filter(|tool| is_callable(tool)).collect();
        let raw: Vec<&str> = tools
            .iter()
            .map(|tool| {
                tool.listing.origin.as_ref().map_or(tool.spec.name.as_str(), |origin| origin.tool.as_str())
            })
            .collect();
        let names = codegen::unique(&raw, &[]);
        let entry =
            |(tool, name): (&Listed, String)| Entry { name, kind: Kind::Listed(Box::new(tool.clone())) };
        let tools = tools.into_iter().zip(names).map(entry).collect();
        Self { name: format!("{SERVERS}.{name}"), server, tools }
    }

    fn entry(&self, name: &str) -> Result<&Entry, String> {
        self.tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
            let near = nearest(name, self.tools.iter().map(|tool| tool.name.as_str()));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("there is no tool `{name}` in {}{near}", self.name)
        })
    }
}

/// Whether it can be called from here: some tools run at the model's provider.
fn is_callable(tool: &Listed) -> bool {
    !matches!(tool.spec.kind, junto_core::ToolKind::Hosted { .. })
}

/// The modules of tools that were written in Python.
fn categories(written: &[GenTool]) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    for tool in written {
        let name = format!("{WRITTEN}.{}", tool.category);
        let entry = Entry { name: tool.name.clone(), kind: Kind::Written(Box::new(tool.clone())) };
        match modules.iter_mut().find(|module| module.name == name) {
            Some(module) => module.tools.push(entry),
            None => modules.push(Module { name, server: String::new(), tools: vec![entry] }),
        }
    }
    modules
}

fn found(module: &Module, tool: &Entry) -> FoundTool {
    FoundTool {
        name: format!("{}.{}", module.name, tool.name),
        summary: codegen::summary(tool.description()),
    }
}

fn searched(module: &Module, tool: &Entry) -> Searched {
    let parameters = tool.module_tool().and_then(|tool| tool.spec.parameters());
    let properties = parameters.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let parameters: Vec<&str> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    Searched {
        name: tool.name.clone(),
        module: module.name.rsplit('.').next().unwrap_or_default().to_owned(),
        description: tool.description().to_owned(),
        parameters: parameters.join(" "),
    }
}
