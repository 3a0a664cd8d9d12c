//! Password hashes as the users file holds them: argon2, bcrypt and SHA-512-crypt, each in its own notation.

use std::fmt;

use argon2::{
    Argon2,
    password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use sha_crypt::ShaCrypt;

/// A hash that is known here.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Hash {
    /// `$argon2id$…`, `$argon2i$…`, `$argon2d$…` (PHC string format).
    Argon2(String),
    /// `$2a$…`, `$2b$…`, `$2y$…`, as `htpasswd -B` writes it.
    Bcrypt(String),
    /// `$6$…`, as `openssl passwd -6` and `mkpasswd -m sha-512` write it.
    Sha512(String),
}

/// Its notation alone: who has a hash may try passwords on it.
impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Argon2(_) => "Argon2",
            Self::Bcrypt(_) => "Bcrypt",
            Self::Sha512(_) => "Sha512",
        })
    }
}

impl Hash {
    /// Reads one.
    ///
    /// # Errors
    /// Which notations are known.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let known = "known are argon2 ($argon2id$…), bcrypt ($2y$…) and SHA-512-crypt ($6$…)";
        let wrong = |what: &str| Err(format!("{what}; {known}"));
        let owned = || text.to_owned();
        if text.starts_with("$argon2") {
            return PasswordHash::new(text)
                .map_or_else(|_| wrong("the argon2 hash is broken"), |_| Ok(Self::Argon2(owned())));
        }
        if ["$2a$", "$2b$", "$2y$"].iter().any(|start| text.starts_with(start)) {
            return if text.len() == 60 { Ok(Self::Bcrypt(owned())) } else { wrong("the bcrypt hash is broken") };
        }
        if text.starts_with("$6$") {
            let parts = text.split('$').filter(|part| !part.is_empty()).count();
            return if parts >= 3 { Ok(Self::Sha512(owned())) } else { wrong("the SHA-512-crypt hash is broken") };
        }
        wrong("this is no hash that is taken")
    }

    /// Makes one of a password, with a new salt.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn of(password: &str) -> Result<Self, String> {
        let hash = Argon2::default().hash_password(password.as_bytes()).map_err(|error| error.to_string())?;
        Ok(Self::Argon2(hash.to_string()))
    }

    /// Whether it is that of a password. Takes tens of milliseconds of processor.
    pub(super) fn fits(&self, password: &str) -> bool {
        match self {
            Self::Argon2(text) => PasswordHash::new(text)
                .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()),
            // bcrypt knows 72 octets; a longer password is wrong, rather than right by its beginning.
            Self::Bcrypt(text) => bcrypt::non_truncating_verify(password, text).unwrap_or(false),
            Self::Sha512(text) => ShaCrypt::default().verify_password(password.as_bytes(), text.as_str()).is_ok(),
        }
    }

    /// As it stands in the file.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Argon2(text) | Self::Bcrypt(text) | Self::Sha512(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_other_programs_are_understood() {
        let made = Hash::of("s3cret-Pass").unwrap();
        assert!(made.text().starts_with("$argon2id$v=19$"));
        let bcrypt = bcrypt::hash("s3cret-Pass", 4).unwrap();
        let sha = sha_crypt();
        for text in [made.text(), &bcrypt, &sha] {
            let hash = Hash::parse(text).unwrap();
            assert!(hash.fits("s3cret-Pass") && !hash.fits("s3cret-pass") && !hash.fits(""), "{text}");
        }
    }

    /// What OpenSSL makes of the password.
    fn sha_crypt() -> String {
        let arguments = ["passwd", "-6", "-salt", "saltsalt", "s3cret-Pass"];
        let ran = std::process::Command::new("openssl").args(arguments).output().unwrap();
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn a_long_password_is_not_cut() {
        let long = "x".repeat(73);
        let hash = Hash::Bcrypt(bcrypt::hash(&long, 4).unwrap());
        assert!(bcrypt::verify(&long, hash.text()).unwrap() && !hash.fits(&long));
    }

    #[test]
    fn what_is_not_known_is_told() {
        for text in ["secret", "$apr1$x$y", "$y$j9T$x", "$2y$05$short", "$6$", "$argon2id$x"] {
            assert!(Hash::parse(text).unwrap_err().contains("known are argon2"), "{text}");
        }
    }
}
