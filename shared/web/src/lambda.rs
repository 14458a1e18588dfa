//! Running routes as a Lambda function.

use crate::routes::Routes;
use crate::settings::{Auth, Settings, SettingsError};
use crate::state::App;
use crate::telemetry::{self, Metrics};

/// Set by Lambda itself and by nothing that imitates it.
const ON_LAMBDA: &str = "AWS_LAMBDA_INITIALIZATION_TYPE";

/// Serves `routes` until the runtime ends the process. `variables` is the environment.
///
/// # Errors
/// When a setting cannot be used, or the runtime fails.
pub async fn serve(
    routes: Routes,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<(), lambda_http::Error> {
    let variables: Vec<(String, String)> = variables.into_iter().collect();
    let on_lambda = variables.iter().any(|(name, _)| name == ON_LAMBDA);
    let settings = Settings::read(variables)?;
    telemetry::start(&settings.log, on_lambda);
    refuse_to_be_open(&settings, on_lambda)?;
    let app = App { metrics: Metrics::new(on_lambda), ..App::open(&settings)? };
    lambda_http::run(routes.into_router(app)).await
}

/// A function on Lambda is reachable by anyone whom its gateway lets through, so it never starts without tokens.
fn refuse_to_be_open(settings: &Settings, on_lambda: bool) -> Result<(), SettingsError> {
    let place = || "this function".to_owned();
    match settings.auth {
        Auth::Jwt => Err(SettingsError::Open {
            place: place(),
            remedy: "this version cannot check tokens yet, so it does not run with ATLAS_AUTH=jwt",
        }),
        Auth::None if on_lambda => Err(SettingsError::Open {
            place: place(),
            remedy: "on Lambda tokens are required, and this version cannot check them yet",
        }),
        Auth::None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(auth: Auth, on_lambda: bool) -> bool {
        let mut settings = Settings::read([]).unwrap();
        settings.auth = auth;
        refuse_to_be_open(&settings, on_lambda).is_err()
    }

    #[test]
    fn nothing_starts_open_on_lambda_or_with_tokens_unchecked() {
        assert!(refused(Auth::None, true) && refused(Auth::Jwt, true) && refused(Auth::Jwt, false));
        assert!(!refused(Auth::None, false));
    }
}
