//! The real programs, and their deployment files.

mod builds;
mod configured;
mod deploying;
mod everyday;
mod host_commands;
mod https;
mod newcomers;
mod pages;
mod pdfs;
mod policies;
mod previous;
mod process;
mod releasing;
mod up;
mod vault_documents;
