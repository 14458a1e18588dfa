//! An issuer of tokens, with keys of each kind.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use serde_json::{Value, json};

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An issuer's private keys.
pub struct Issuer {
    /// For RS256.
    pub rsa: RsaKeyPair,
    /// For ES256.
    pub ec: EcdsaKeyPair,
    /// For EdDSA.
    pub ed: Ed25519KeyPair,
}

impl Issuer {
    /// New keys, except the RSA key, which is fixed and only for tests: ring cannot generate one.
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let rsa = STANDARD.decode(include_str!("issuer/rsa_key.txt").trim()).unwrap();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            rsa: RsaKeyPair::from_der(&rsa).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap(),
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
        }
    }

    /// The public keys, as a JWKS: `rsa`, `ec` and `ed`.
    pub fn set(&self) -> Value {
        let rsa = RsaPublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        let point = self.ec.public_key().as_ref();
        json!({ "keys": [
            { "kty": "RSA", "kid": "rsa", "alg": "RS256", "use": "sig", "n": b64(rsa.n), "e": b64(rsa.e) },
            { "kty": "EC", "kid": "ec", "crv": "P-256", "x": b64(&point[1..33]), "y": b64(&point[33..]) },
            { "kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": b64(self.ed.public_key().as_ref()) },
        ]})
    }

    /// A token with `claims`, signed with the key for this algorithm.
    pub fn sign(&self, algorithm: &str, kid: Option<&str>, claims: &Value) -> String {
        let mut header = json!({ "alg": algorithm, "typ": "JWT" });
        if let Some(kid) = kid {
            header["kid"] = kid.into();
        }
        self.sign_as(&header, claims)
    }

    /// The same with this header.
    pub fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let random = SystemRandom::new();
        let message = format!("{}.{}", b64(header.to_string()), b64(claims.to_string()));
        let signature = match header["alg"].as_str().unwrap() {
            "RS256" => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                self.rsa.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            "ES256" => self.ec.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            "EdDSA" => self.ed.sign(message.as_bytes()).as_ref().to_vec(),
            _ => Vec::new(),
        };
        format!("{message}.{}", b64(signature))
    }
}

/// A token with `claims` that HS256 signs with `secret`.
pub fn sign_by_secret(secret: &[u8], header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", b64(header.to_string()), b64(claims.to_string()));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
    format!("{message}.{}", b64(signature))
}

impl Default for Issuer {
    fn default() -> Self {
        Self::new()
    }
}
