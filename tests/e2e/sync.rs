//! `atlas sync`, as people and agents write at the same time.

mod killed;
mod lossless;
mod names;
mod purge;
mod rclone_mount;
mod repair;
mod signals;
