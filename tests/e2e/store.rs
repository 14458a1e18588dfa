//! The store: requests to it, damage and faults.

mod buckets;
mod costs;
mod damage;
mod golden;
mod sections;
mod store_faults;
mod stores;
