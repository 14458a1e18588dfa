//! `atlas sync`, while people and agents write.

mod git;
mod killed;
mod lossless;
mod names;
mod purge;
mod rclone_mount;
mod repair;
mod signals;
