//! Which certificates are believed.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};

/// Which certificates are believed.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Those that the machine believes.
    #[default]
    Machine,
    /// Those that these authorities vouch for.
    Roots(Arc<RootCertStore>),
    /// The one with this fingerprint, whatever else it says: also one that vouches for itself, is for another name or has expired.
    Pinned(Fingerprint),
}

impl Trust {
    /// The certificate `der` alone.
    #[must_use]
    pub fn pinned(der: &[u8]) -> Self {
        Self::Pinned(Fingerprint::of(der))
    }

    /// How TLS is spoken; none where that is the machine's affair.
    pub(crate) fn config(&self) -> Result<Option<ClientConfig>, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let builder = || ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let mut config = match self {
            Self::Machine => {
                // One that is there already is as good.
                let _: Result<(), Arc<_>> = ring::default_provider().install_default();
                return Ok(None);
            }
            Self::Roots(roots) => builder()?.with_root_certificates(roots.clone()).with_no_client_auth(),
            Self::Pinned(fingerprint) => {
                let verifier = Arc::new(Pinned { fingerprint: *fingerprint, provider: provider.clone() });
                builder()?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Some(config))
    }
}

/// The SHA-256 of a certificate's DER.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// That of the certificate `der`.
    #[must_use]
    pub fn of(der: &[u8]) -> Self {
        Self(Sha256::digest(der).into())
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    /// Reads 64 hexadecimal digits, with or without colons between the bytes.
    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        // Longer than any, so that nobody waits for it.
        if text.len() > 100 {
            return Err(FingerprintError);
        }
        let digits: Vec<u32> = if text.contains(':') {
            let parts: Vec<&str> = text.split(':').collect();
            if parts.iter().any(|part| part.len() != 2) {
                return Err(FingerprintError);
            }
            parts.concat().chars().filter_map(|digit| digit.to_digit(16)).collect()
        } else {
            text.chars().map(|digit| digit.to_digit(16).ok_or(FingerprintError)).collect::<Result<_, _>>()?
        };
        let pairs = digits.chunks_exact(2).filter_map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok());
        let bytes: Vec<u8> = pairs.collect();
        if digits.len() != 64 {
            return Err(FingerprintError);
        }
        bytes.try_into().map(Self).map_err(|_| FingerprintError)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<String> = self.0.iter().map(|byte| format!("{byte:02X}")).collect();
        f.write_str(&bytes.join(":"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write the SHA-256 fingerprint of the certificate: 64 hexadecimal digits, colons allowed")]
pub struct FingerprintError;

/// The certificate that was shown is not the pinned one.
#[derive(Debug, thiserror::Error)]
#[error("the certificate is not the pinned one")]
pub(crate) struct Unpinned(pub(crate) Fingerprint);

/// Believes one certificate. The handshake still proves that the server has its key.
#[derive(Debug)]
struct Pinned {
    fingerprint: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = Fingerprint::of(end_entity);
        if shown == self.fingerprint {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::Other(OtherError(Arc::new(Unpinned(shown)))))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
