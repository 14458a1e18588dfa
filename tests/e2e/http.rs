//! The functions over REST and the Bridge.

mod answer_sizes;
mod bridge;
mod context;
mod cors;
mod events;
mod find;
mod forms;
mod keyed;
mod merged;
mod move_follows;
mod moves;
mod moves_back;
mod notes;
mod openapi;
mod query;
mod ranked;
mod real_moves;
mod requests;
mod restore;
mod schemas;
mod scored;
mod search;
mod traversal;
mod upserts;
mod writers;
mod writes;
