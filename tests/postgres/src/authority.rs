//! [`Authority`]: a certificate authority of a test's own, and [`Identity`], what it issues to servers.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd};

/// A certificate authority that lasts as long as its value.
pub struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A server's certificate and its private key, both PEM.
#[derive(Clone)]
pub struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// Draws a new authority.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        // Each has a name of its own: by it a client looks for who has signed.
        params.distinguished_name.push(DnType::CommonName, format!("authority {:016x}", fastrand::u64(..)));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("the system has random numbers");
        let certificate = params.self_signed(&key).expect("an authority without names can be signed");
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// Returns its certificate, PEM: what `sslrootcert` names.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Returns its certificate, DER.
    pub fn der(&self) -> Vec<u8> {
        self.certificate.der().to_vec()
    }

    /// Issues a certificate to the server of these names and addresses. Clients here ask for `localhost`.
    pub fn issue(&self, names: &[&str]) -> Result<Identity, String> {
        self.sign(&parameters(names)?)
    }

    /// Issues a certificate that is no longer valid.
    pub fn issue_expired(&self, names: &[&str]) -> Result<Identity, String> {
        let mut params = parameters(names)?;
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<Identity, String> {
        let key = KeyPair::generate().map_err(|error| format!("a key: {error}"))?;
        let signed = params.signed_by(&key, &self.issuer).map_err(|error| format!("a certificate: {error}"))?;
        Ok(Identity { certificate: signed.pem(), key: key.serialize_pem() })
    }
}

fn parameters(names: &[&str]) -> Result<CertificateParams, String> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names.clone()).map_err(|error| format!("a certificate for {}: {error}", names.join(", ")))
}
