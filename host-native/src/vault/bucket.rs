//! A bucket by the S3 protocol, with this program's own HTTP client: its TLS roots, no proxy, no redirects.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{HttpClient, HttpConnector};
use object_store::prefix::PrefixStore;
use object_store::{ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use reqwest::Url;

use crate::send;

/// How long a connection may take, and how long nothing may come.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_mins(1);
/// How often, and how long, a request is retried.
const RETRIES: usize = 3;
const RETRY: Duration = Duration::from_secs(30);

/// Opens a bucket, `BUCKET/PREFIX`, with what the environment says in `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
/// `AWS_REGION`, `AWS_ENDPOINT_URL` and the others of that family.
pub fn open(place: &str) -> Result<Arc<dyn ObjectStore>, String> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    if bucket.is_empty() {
        return Err("recordings need a bucket: s3://BUCKET/PREFIX".into());
    }
    // One object is deleted at a time: not every service of this protocol has a request for many.
    let builder = AmazonS3Builder::from_env().with_config(AmazonS3ConfigKey::DisableBulkDelete, "true");
    let builder = builder.with_bucket_name(bucket);
    encrypted(&builder)?;
    let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY, ..RetryConfig::default() };
    let store = builder.with_http_connector(OwnClient).with_retry(retry).build();
    let store = store.map_err(|error| format!("recordings cannot be kept in s3://{place}: {error}"))?;
    let prefix = prefix.trim_matches('/');
    if prefix.is_empty() { Ok(Arc::new(store)) } else { Ok(Arc::new(PrefixStore::new(store, prefix))) }
}

/// Refuses an endpoint over plain HTTP that is not on this machine, unless `AWS_ALLOW_HTTP` says so.
fn encrypted(builder: &AmazonS3Builder) -> Result<(), String> {
    let allows = builder.get_config_value(&AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    let Some(url) = endpoint.and_then(|text| Url::parse(&text).ok()).filter(|url| url.scheme() == "http") else {
        return Ok(());
    };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_near = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_near || allows.as_deref() == Some("true") {
        return Ok(());
    }
    Err(format!("{url} would have recordings sent unencrypted: use https, or set AWS_ALLOW_HTTP=true"))
}

/// Connects with the client that all requests of this program use.
#[derive(Debug)]
struct OwnClient;

impl HttpConnector for OwnClient {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed = |source| object_store::Error::Generic { store: "S3", source };
        let client = send::client().map_err(|error| failed(error.into()))?;
        let client = client.connect_timeout(CONNECT).read_timeout(SILENCE).build();
        Ok(HttpClient::new(client.map_err(|error| failed(error.into()))?))
    }
}
