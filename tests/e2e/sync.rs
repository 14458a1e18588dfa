//! `atlas sync`, while people and agents write.

mod alerts;
mod git;
mod killed;
mod lossless;
mod names;
mod purge;
mod rclone_mount;
mod relinks;
mod repair;
mod signals;
