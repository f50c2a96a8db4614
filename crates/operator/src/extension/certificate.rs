//! The server's certificate and key, read again when their files change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// A certificate chain and its key, in files. A pair that cannot be used leaves the last usable pair in
/// place.
pub struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The pair in use.
    usable: Option<Arc<CertifiedKey>>,
    /// What was read last: both files, or the trouble with them.
    read: Option<Result<Files, String>>,
}

/// The contents of both files.
#[derive(PartialEq, Eq)]
struct Files {
    chain: Vec<u8>,
    key: Vec<u8>,
}

impl Certificate {
    /// The pair `tls.crt` and `tls.key` of a folder, the names in a Secret of Kubernetes.
    pub fn in_folder(folder: &Path) -> Self {
        let (chain, key) = (folder.join("tls.crt"), folder.join("tls.key"));
        Self { chain, key, state: Mutex::default() }
    }

    /// Reads the files again and again, for as long as the future is polled.
    pub async fn follow(&self, every: Duration) {
        loop {
            self.read();
            tokio::time::sleep(every).await;
        }
    }

    /// Reads the files. Trouble is logged once, until the files change.
    pub fn read(&self) {
        let read = self.files();
        let mut state = self.state();
        if state.read.as_ref() == Some(&read) {
            return;
        }
        let pair = match &read {
            Ok(files) => files.pair(),
            Err(trouble) => Err(trouble.clone()),
        };
        let file = self.chain.display();
        match pair {
            Ok(pair) => {
                tracing::info!(%file, "using this certificate for the runtime extension");
                state.usable = Some(Arc::new(pair));
            }
            Err(trouble) if state.usable.is_some() => {
                tracing::warn!(%file, trouble, "the runtime extension keeps its last certificate");
            }
            Err(trouble) => {
                tracing::warn!(%file, trouble, "the runtime extension waits for a certificate");
            }
        }
        state.read = Some(read);
    }

    fn files(&self) -> Result<Files, String> {
        let read = |file: &Path| {
            std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
        };
        Ok(Files { chain: read(&self.chain)?, key: read(&self.key)? })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    /// The pair, if the key is the certificate's.
    fn pair(&self) -> Result<CertifiedKey, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.chain).collect();
        let chain = chain.map_err(|error| format!("the certificate cannot be read: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| format!("the key cannot be read: {error}"))?;
        CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|error| format!("certificate and key cannot be used: {error}"))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.state().usable.clone()
    }
}

impl fmt::Debug for Certificate {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("chain", &self.chain).finish_non_exhaustive()
    }
}

#[cfg(test)]
impl Certificate {
    /// The chain in use.
    pub(super) fn chain_in_use(&self) -> Option<Vec<CertificateDer<'static>>> {
        self.state().usable.as_ref().map(|pair| pair.cert.clone())
    }
}
