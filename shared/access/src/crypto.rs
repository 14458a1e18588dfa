//! Signatures by ring, which is linked for TLS already: HS256, RS256, ES256 and `EdDSA`, and no others.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, RSA_PKCS1_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use signature::{Signer, Verifier};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| Ok(Box::new(Signature::signing(*algorithm, key)?)),
    verifier_factory: |algorithm, key| Ok(Box::new(Signature::verifying(*algorithm, key)?)),
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(unsupported()),
        rsa_pub_components_from_public_key: |_| Err(unsupported()),
        ec_pub_components_from_private_key: |_, _| Err(unsupported()),
        ed_pub_components_from_private_key: |_, _| Err(unsupported()),
        compute_digest: |_, _| Err(unsupported()),
    },
};

/// Installs ring as the library that signs and checks tokens.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // An earlier installation was deliberate.
        let _ = PROVIDER.install_default();
    });
}

fn unsupported() -> Error {
    ErrorKind::UnsupportedAlgorithm.into()
}

/// One algorithm with its key.
struct Signature {
    algorithm: Algorithm,
    key: Key,
}

enum Key {
    Hmac(hmac::Key),
    Private(EcdsaKeyPair),
    Public(DecodingKey),
}

impl Signature {
    fn signing(algorithm: Algorithm, key: &EncodingKey) -> Result<Self> {
        match (algorithm, key.family()) {
            (Algorithm::HS256, AlgorithmFamily::Hmac) => {
                Ok(Self { algorithm, key: Key::Hmac(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())) })
            }
            (Algorithm::ES256, AlgorithmFamily::Ec) => {
                let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
                let pair = EcdsaKeyPair::from_pkcs8(kind, key.as_bytes(), &random).map_err(|_| unsupported())?;
                Ok(Self { algorithm, key: Key::Private(pair) })
            }
            _ => Err(unsupported()),
        }
    }

    fn verifying(algorithm: Algorithm, key: &DecodingKey) -> Result<Self> {
        let key = match (algorithm, key.family()) {
            (Algorithm::HS256, AlgorithmFamily::Hmac) => {
                Key::Hmac(hmac::Key::new(hmac::HMAC_SHA256, key.try_get_as_bytes()?))
            }
            (Algorithm::RS256, AlgorithmFamily::Rsa)
            | (Algorithm::ES256, AlgorithmFamily::Ec)
            | (Algorithm::EdDSA, AlgorithmFamily::Ed) => Key::Public(key.clone()),
            _ => return Err(unsupported()),
        };
        Ok(Self { algorithm, key })
    }
}

impl Signer<Vec<u8>> for Signature {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, signature::Error> {
        match &self.key {
            Key::Hmac(key) => Ok(hmac::sign(key, message).as_ref().to_vec()),
            Key::Private(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message).map_err(|_| signature::Error::new())?;
                Ok(signed.as_ref().to_vec())
            }
            Key::Public(_) => Err(signature::Error::new()),
        }
    }
}

impl Verifier<Vec<u8>> for Signature {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), signature::Error> {
        let key = match &self.key {
            Key::Hmac(key) => return hmac::verify(key, message, signature).map_err(|_| signature::Error::new()),
            Key::Private(_) => return Err(signature::Error::new()),
            Key::Public(key) => key,
        };
        let verified = match (self.algorithm, key.kind()) {
            (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Algorithm::ES256, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Algorithm::EdDSA, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
            _ => return Err(signature::Error::new()),
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtSigner for Signature {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl JwtVerifier for Signature {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
