//! The credentials file of `ses-send-email.pl`: `AWSAccessKeyId=…` and `AWSSecretKey=…`, a line each.
//!
//! Blank lines, comments and blanks around the `=`, which the script refused, are taken. No message shows a value.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{mail::Secret, upstream::Keys};

/// Octets of such a file at most.
const LARGEST: u64 = 64 << 10;

/// A file that gives no credentials.
#[derive(Debug, thiserror::Error)]
pub(super) enum CredentialsError {
    /// It cannot be read.
    #[error("Cannot open credentials file {}: {cause}.", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A line has no `=`.
    #[error("Cannot parse credentials entry on line {line} in {}: it has no \"=\".", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A line has another name.
    #[error("Unrecognized credential {name} in {}: there are AWSAccessKeyId and AWSSecretKey.", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What stands before the `=`.
        name: String,
    },
    /// A name is missing.
    #[error("There is no {name} in {}.", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The name.
        name: &'static str,
    },
}

impl CredentialsError {
    /// How the script ended: with the error number of the system, and 25 of a file with another content.
    pub(super) fn legacy_exit(&self) -> u8 {
        match self {
            Self::Unreadable { cause, .. } => {
                cause.raw_os_error().and_then(|number| u8::try_from(number).ok()).unwrap_or(2)
            }
            _ => 25,
        }
    }
}

/// The keys in a file.
pub(super) fn read(path: &Path) -> Result<Keys, CredentialsError> {
    let unreadable = |cause| CredentialsError::Unreadable { path: path.to_owned(), cause };
    if fs::metadata(path).map_err(unreadable)?.len() > LARGEST {
        return Err(unreadable(std::io::Error::other(format!("it has more than {LARGEST} octets"))));
    }
    parse(&fs::read(path).map_err(unreadable)?, path)
}

fn parse(octets: &[u8], path: &Path) -> Result<Keys, CredentialsError> {
    let (mut id, mut secret) = (None, None);
    let text = String::from_utf8_lossy(octets);
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let path = || path.to_owned();
        let (name, value) =
            line.split_once('=').ok_or_else(|| CredentialsError::Entry { path: path(), line: number + 1 })?;
        match name.trim_end() {
            "AWSAccessKeyId" => id = Some(value.trim().to_owned()),
            "AWSSecretKey" => secret = Some(Secret::new(value.trim())),
            other => {
                let name = other.chars().filter(|one| !one.is_control()).take(40).collect();
                return Err(CredentialsError::Unknown { path: path(), name });
            }
        }
    }
    let missing = |name| CredentialsError::Missing { path: path.to_owned(), name };
    let id = id.filter(|id| !id.is_empty()).ok_or_else(|| missing("AWSAccessKeyId"))?;
    let secret = secret.filter(|secret| !secret.is_empty()).ok_or_else(|| missing("AWSSecretKey"))?;
    Ok(Keys { id, secret })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, String), String> {
        let keys = parse(text.as_bytes(), Path::new("F")).map_err(|error| error.to_string())?;
        Ok((keys.id, keys.secret.reveal().to_owned()))
    }

    #[test]
    fn two_lines_make_the_keys() {
        for text in [
            "AWSAccessKeyId=AKIA\nAWSSecretKey=a/b=c=\n",
            "AWSSecretKey=a/b=c= \r\nAWSAccessKeyId=AKIA\r\n",
            "\u{feff}# ours\n\n  AWSAccessKeyId = AKIA\nAWSSecretKey=old\nAWSSecretKey=a/b=c=",
        ] {
            assert_eq!(parsed(text), Ok(("AKIA".to_owned(), "a/b=c=".to_owned())), "{text}");
        }
    }

    #[test]
    fn a_fault_is_named_without_the_secret() {
        for (text, fault) in [
            ("AWSAccessKeyId=AKIA\nhush\n", "Cannot parse credentials entry on line 2 in F: it has no \"=\"."),
            (
                "aws_secret_access_key=hush\n",
                "Unrecognized credential aws_secret_access_key in F: there are AWSAccessKeyId and AWSSecretKey.",
            ),
            ("AWSAccessKeyId=AKIA\n", "There is no AWSSecretKey in F."),
            ("AWSAccessKeyId=\nAWSSecretKey=hush", "There is no AWSAccessKeyId in F."),
        ] {
            assert_eq!(parsed(text), Err(fault.to_owned()));
        }
        let error = read(Path::new("/nowhere/credentials")).unwrap_err();
        assert_eq!(error.legacy_exit(), 2);
        assert!(error.to_string().starts_with("Cannot open credentials file /nowhere/credentials: No such file"));
    }
}
