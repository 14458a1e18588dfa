//! The time zone in which the days of a call are.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::arguments::{Zone, invalid_input};
use crate::error::Error;
use crate::operation::Context;

impl Context<'_> {
    /// The time zone of today: the one in the argument `timezone`, or else the deployment's, or else UTC.
    ///
    /// # Errors
    /// When there is no zone of that name.
    pub fn zone(&self, argument: Option<&Zone>) -> Result<TimeZone, Error> {
        let (field, name) = match (argument, &self.atlas.current.time_zone) {
            (Some(zone), _) => ("timezone", zone.as_str()),
            (None, Some(name)) => ("context.timeZone", name.as_str()),
            (None, None) => return Ok(TimeZone::UTC),
        };
        let zone = TimeZoneDatabase::bundled().get(name);
        zone.map_err(|_| invalid_input(field, "write the name of a time zone, such as Europe/Berlin"))
    }
}
