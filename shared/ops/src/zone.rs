//! The time zone in which the days of a call are, and the language of their names.

use atlas_vault::date_format::Locale;
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

    /// The language of dates that the deployment is configured with.
    ///
    /// # Errors
    /// When there is no language of that name.
    pub fn locale(&self) -> Result<Option<Locale>, Error> {
        let named = |name: &String| {
            Locale::named(name)
                .ok_or_else(|| invalid_input("context.locale", "write the name of a language, such as de or pt-br"))
        };
        self.atlas.current.locale.as_ref().map(named).transpose()
    }
}
