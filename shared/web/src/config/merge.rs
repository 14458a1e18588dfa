//! Merges the document and the environment. The environment has precedence, since it is nearer to the process.

use std::time::Duration;

use atlas_access::visibility::{KnownOperation, NEEDS_APP, Visibility};
use atlas_ops::Info;
use atlas_tools::{catalogue, plur, surface};

use crate::config::{ConfigError, Document, DocumentError};
use crate::hosts::Hosts;
use crate::origins::Origins;
use crate::settings::{FurtherVaults, Settings, SettingsError, VaultSettings};

/// Variables, and the paths in the document with the same meaning.
pub(crate) const PAIRS: [(&str, &[&str]); 10] = [
    ("ATLAS_VAULT", &["vaults[0].id"]),
    ("ATLAS_AUTH", &["auth.mode"]),
    ("ATLAS_JWKS", &["auth.jwks", "auth.jwksFile"]),
    ("ATLAS_JWT_ALGORITHMS", &["auth.algorithms"]),
    ("ATLAS_JWT_ISSUER", &["auth.issuers"]),
    ("ATLAS_JWT_AUDIENCE", &["auth.audiences"]),
    ("ATLAS_RESOURCE", &["auth.resource"]),
    ("ATLAS_AUTHORIZATION_SERVERS", &["auth.authorizationServers"]),
    ("ATLAS_HOSTS", &["transports.http.allowedHosts"]),
    ("ATLAS_ALLOWED_ORIGINS", &["transports.http.allowedOrigins"]),
];

impl Settings {
    /// The environment's settings, completed by `document`.
    ///
    /// # Errors
    /// When the two contradict each other.
    pub fn with(mut self, document: Document) -> Result<Self, ConfigError> {
        self.said.document.clone_from(document.said());
        match &document.vaults {
            Some(vaults) => {
                let vaults = vaults.iter().map(|vault| VaultSettings::of(vault, &document.acl));
                self.take_vaults(vaults.collect::<Result<_, DocumentError>>()?)?;
            }
            None => self.vaults.iter_mut().for_each(|vault| vault.acl.clone_from(&document.acl)),
        }
        self.further = document.further_folder().map(|folder| FurtherVaults { folder, acl: document.acl.clone() });
        self.take_auth(&document);
        let http = &document.transports.http;
        if let (Some(hosts), true) = (&http.allowed_hosts, self.leaves("ATLAS_HOSTS")) {
            self.hosts = Hosts::parse(&hosts.join(",")).unwrap_or_default();
        }
        if let (Some(origins), true) = (&http.allowed_origins, self.leaves("ATLAS_ALLOWED_ORIGINS")) {
            let wrong = |remedy| DocumentError::new("transports.http.allowedOrigins", remedy);
            self.origins = Origins::new(origins).map_err(wrong)?;
        }
        if let Some(bytes) = document.governor.max_response_bytes {
            self.limits.max_response_bytes = bytes;
        }
        if let Some(milliseconds) = document.governor.regex_timeout_ms {
            self.limits.max_scan_time = Duration::from_millis(milliseconds);
        }
        if let Some(milliseconds) = document.governor.cpu_time_ms {
            self.limits.max_cpu_time = Duration::from_millis(milliseconds);
        }
        if let Some(seconds) = document.idempotency_ttl_seconds {
            self.limits.key_time = Duration::from_secs(seconds);
        }
        if let Some(seconds) = document.elicit_ttl_seconds {
            self.limits.confirmation_time = Duration::from_secs(seconds);
        }
        if let Some(seconds) = document.sync_stale_seconds {
            self.limits.max_sync_age = Duration::from_secs(seconds);
        }
        self.current = document.context.current(self.current.time_zone);
        self.throttle = document.throttle;
        self.facade = document.tool_facade.mode;
        self.bridge_any_origin = document.bridge.any_origin;
        self.visibility = document.tool_visibility;
        self.query_passages = document.query.passages;
        self.services.plur = document.plur;
        self.services.gateway = document.gateway;
        self.services.embeddings = document.embeddings;
        Ok(self)
    }

    /// Whether the environment does not set this variable.
    fn leaves(&self, variable: &str) -> bool {
        !self.said.environment.contains(variable)
    }

    /// The setting's name where it was set: the variable, or the path in the document.
    pub(crate) fn called(&self, variable: &'static str) -> &'static str {
        let paths = PAIRS.iter().find(|(name, _)| *name == variable).map(|(_, paths)| *paths).unwrap_or_default();
        let said = paths.iter().find(|path| self.leaves(variable) && self.said.document.contains(**path));
        said.copied().unwrap_or(variable)
    }

    /// Sets the vaults. The default one comes first: the one that the environment names, or else the first.
    fn take_vaults(&mut self, mut vaults: Vec<VaultSettings>) -> Result<(), SettingsError> {
        if !self.leaves("ATLAS_VAULT") {
            let Some(index) = vaults.iter().position(|vault| vault.id == self.vault) else {
                let ids: Vec<&str> = vaults.iter().map(|vault| vault.id.as_str()).collect();
                return Err(SettingsError::Value {
                    name: "ATLAS_VAULT",
                    value: self.vault.to_string(),
                    remedy: format!("write one of the configuration's vaults: {}", ids.join(", ")),
                });
            };
            let default = vaults.remove(index);
            vaults.insert(0, default);
        }
        if let Some(default) = vaults.first() {
            self.vault = default.id.clone();
            self.vaults = vaults;
        }
        Ok(())
    }

    fn take_auth(&mut self, document: &Document) {
        let auth = &document.auth;
        if let (Some(mode), true) = (auth.mode, self.leaves("ATLAS_AUTH")) {
            self.auth = mode;
        }
        if self.leaves("ATLAS_JWKS") {
            let inline = auth.jwks.clone().map(|jwks| serde_json::Value::Object(jwks).to_string());
            if let Some(jwks) = inline.or_else(|| auth.jwks_file.clone()) {
                self.tokens.jwks = Some(jwks);
            }
        }
        for (variable, said, list) in [
            ("ATLAS_JWT_ALGORITHMS", &auth.algorithms, &mut self.tokens.algorithms),
            ("ATLAS_JWT_ISSUER", &auth.issuers, &mut self.tokens.issuers),
            ("ATLAS_JWT_AUDIENCE", &auth.audiences, &mut self.tokens.audiences),
            ("ATLAS_AUTHORIZATION_SERVERS", &auth.authorization_servers, &mut self.tokens.authorization_servers),
        ] {
            if let (Some(said), false) = (said, self.said.environment.contains(variable)) {
                list.clone_from(said);
            }
        }
        self.tokens.server = auth.server.clone();
        self.tokens.upstream.clone_from(&auth.upstream);
        self.tokens.check_revocation = auth.check_revocation.unwrap_or_default();
        if let (Some(resource), true) = (&auth.resource, self.leaves("ATLAS_RESOURCE")) {
            self.tokens.resource = Some(resource.clone());
        }
    }

    /// The visibility of all operations.
    ///
    /// # Errors
    /// When the configuration names an unknown operation.
    pub fn visible(&self) -> Result<Visibility, DocumentError> {
        let has_app = self
            .vaults
            .iter()
            .filter_map(|vault| vault.obsidian.as_ref())
            .any(|obsidian| obsidian.through_bucket || (self.obsidian.is_near && obsidian.rest_api_url.is_some()));
        let known = |info: &Info| KnownOperation {
            name: info.name,
            tags: info.tags,
            writes: info.writes(),
            is_listed: !surface::needs_more(info)
                || info.tags.contains(&NEEDS_APP) && has_app
                || info.tags.contains(&plur::TAG) && self.services.plur.is_some(),
        };
        let known: Vec<KnownOperation<'_>> = catalogue::ALL.iter().map(known).collect();
        Visibility::new(&self.visibility, &known).map_err(|error| {
            let remedy = format!("no operation has {:?}: use some of {}", error.name, error.known);
            DocumentError::new(format!("toolVisibility.{}", error.field), remedy)
        })
    }
}
