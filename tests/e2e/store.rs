//! The store: what it is asked, and what becomes of damage and faults.

mod buckets;
mod costs;
mod damage;
mod golden;
mod sections;
mod store_faults;
mod stores;
