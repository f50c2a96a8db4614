//! Direct access to etcd, past the API server: lists and deletes keys.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::Error;
use crate::etcd;

/// Prefix of every key of the API server, and the end of its key range.
pub(crate) const PREFIX: &str = "/registry/";
const PREFIX_END: &str = "/registry0";

/// Operations per transaction; etcd accepts 128.
const AT_ONCE: usize = 100;

/// The keys of the API server, each with the revision of its last write.
pub(crate) type Content = BTreeMap<String, String>;

/// Lists the keys that the plane in `folder` stores.
pub(crate) async fn content(folder: &Path) -> Result<Content, Error> {
    let all = json!({"key": text(PREFIX), "range_end": text(PREFIX_END), "keys_only": true});
    let answer: Range = ask(folder, "/v3/kv/range", &all).await?;
    let key =
        |stored: Stored| (String::from_utf8_lossy(&stored.key.0).into_owned(), stored.mod_revision);
    Ok(answer.kvs.into_iter().map(key).collect())
}

/// Deletes keys. The API server notices through its watch, as with its own deletions.
pub(crate) async fn remove(folder: &Path, keys: &[String]) -> Result<(), Error> {
    for keys in keys.chunks(AT_ONCE) {
        let one = |key: &String| json!({"request_delete_range": {"key": text(key)}});
        let operations: Vec<Value> = keys.iter().map(one).collect();
        let _: Value = ask(folder, "/v3/kv/txn", &json!({"success": operations})).await?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<Stored>,
}

#[derive(Deserialize)]
struct Stored {
    key: ByteString,
    mod_revision: String,
}

fn text(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}

/// Sends a request to etcd's JSON gateway. HTTP/1.0, so the end of the connection ends the answer.
async fn ask<T: serde::de::DeserializeOwned>(
    folder: &Path,
    path: &str,
    body: &Value,
) -> Result<T, Error> {
    let failed = || Error::io(format!("asking etcd for {path}"));
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.0\r\ncontent-length: {}\r\n\r\n", body.len());
    let exchange = async {
        let mut stream = UnixStream::connect(etcd::socket(folder)).await?;
        stream.write_all((head + &body).as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(answer)
    };
    let answer: Vec<u8> = exchange.await.map_err(failed())?;
    let answer = String::from_utf8_lossy(&answer);
    let refused = || io::Error::other(answer.chars().take(500).collect::<String>());
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.contains(" 200 OK") => {
            serde_json::from_str(body).map_err(|_| failed()(refused()))
        }
        _ => Err(failed()(refused())),
    }
}
