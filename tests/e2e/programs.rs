//! The real programs, and what stands beside them.

mod configured;
mod deploying;
mod https;
mod pages;
mod policies;
mod process;
mod up;
