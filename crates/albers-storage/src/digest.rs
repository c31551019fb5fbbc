//! SHA-256 of bytes, while they are written.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

/// A writer that takes the digest of what goes through it.
pub struct Digested<W> {
    inner: W,
    hasher: Sha256,
}

impl<W: Write> Digested<W> {
    /// Nothing went through it yet.
    pub fn new(inner: W) -> Digested<W> {
        Digested { inner, hasher: Sha256::new() }
    }

    /// What is written to.
    pub fn inner(&self) -> &W {
        &self.inner
    }

    /// What was written to, and the digest of the bytes as 64 hexadecimal digits.
    pub fn finish(self) -> (W, String) {
        (self.inner, hex(&self.hasher.finalize()))
    }
}

impl<W: Write> Write for Digested<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..n_written]);
        Ok(n_written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The digest of all bytes of a reader, as 64 hexadecimal digits.
pub fn digest_of(mut reader: impl io::Read) -> io::Result<String> {
    let mut digested = Digested::new(io::sink());
    io::copy(&mut reader, &mut digested)?;
    Ok(digested.finish().1)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_standard() {
        const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let mut digested = Digested::new(Vec::new());
        digested.write_all(b"ab").unwrap();
        digested.write_all(b"c").unwrap();
        assert_eq!(digested.finish(), (b"abc".to_vec(), ABC.to_owned()));
        assert_eq!(digest_of(&b"abc"[..]).unwrap(), ABC);
    }
}
