//! The MCP door and the tool surfaces of other specifications.

mod calls;
mod code;
mod connectors;
mod door;
mod facades;
mod guardrails;
mod mcp_stdio;
mod packs;
mod prompts;
mod tasks;
mod teaching;
mod vault_mcp;

pub(crate) use self::mcp_stdio::Agent;
