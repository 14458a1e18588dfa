//! Processes with a throttle.

use atlas_access::ThrottleConfig;
use atlas_access::policy::{Tier, Tiers};
use atlas_web::auth::Gate;
use atlas_web::{App, Settings};

use crate::support::clock;
use crate::support::tokens::SECRET;

/// Configures a process with authentication and this throttle, by the test's clock.
pub fn throttled(config: ThrottleConfig) -> impl FnOnce(App) -> App {
    let variables = [("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let gate = Gate::of(&Settings::read(variables).unwrap()).unwrap();
    move |mut app| {
        (app.atlas, app.gate) = (app.atlas.with_throttle(config), gate);
        app.with_clock(clock::now)
    }
}

/// One call per second of each class on average, `burst` at once.
pub fn at_once(burst: u32) -> ThrottleConfig {
    let tier = Tier { per_minute: 60, burst };
    let tiers = Tiers { read: tier, write: tier, delete: tier, ..Tiers::default() };
    ThrottleConfig { tiers, ..ThrottleConfig::default() }
}
