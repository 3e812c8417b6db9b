//! Sessions on disk: the journal, the index, the ledger, snapshots of the workspace.
