//! `-e URL`: where SES is, and in which region.

/// An endpoint of SES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// `http://` or `https://`, host and port, and perhaps the start of a path, without a final slash.
    pub(super) url: String,
    /// Host and port, for messages.
    pub(super) host: String,
    /// The region that requests are signed for.
    pub(super) region: String,
}

/// The region of the script, and of a host that names none.
pub(super) const REGION: &str = "us-east-1";

impl Endpoint {
    /// Reads a URL such as `https://email.eu-west-1.amazonaws.com/`.
    ///
    /// # Errors
    /// What would be right.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("-e {text}: not a URL such as https://email.eu-west-1.amazonaws.com/");
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let scheme = scheme.to_ascii_lowercase();
        let port = match scheme.as_str() {
            "https" => 443,
            "http" => 80,
            _ => return Err(wrong()),
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let legal = |one: char| one.is_ascii_graphic() && !"@?#\"<>\\^`{|}".contains(one);
        if authority.is_empty() || authority.starts_with(':') || !rest.chars().all(legal) {
            return Err(wrong());
        }
        let (name, given) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, Some(port.parse::<u16>().map_err(|_| wrong())?)),
            _ => (authority, None),
        };
        Ok(Self {
            url: format!("{scheme}://{}", rest.trim_end_matches('/')),
            host: format!("{name}:{}", given.unwrap_or(port)),
            region: region(&name.to_ascii_lowercase()).unwrap_or(REGION).to_owned(),
        })
    }
}

/// The label behind `email` or `email-fips`, in a name of AWS's.
fn region(host: &str) -> Option<&str> {
    let ours = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"].iter().any(|end| host.ends_with(end));
    let mut labels = host.split('.');
    labels.find(|label| ["email", "email-fips"].contains(label)).filter(|_| ours)?;
    labels.next().filter(|label| label.contains('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_names_the_region() {
        for (text, url, host, region) in [
            (
                "https://email.eu-west-1.amazonaws.com/",
                "https://email.eu-west-1.amazonaws.com",
                "email.eu-west-1.amazonaws.com:443",
                "eu-west-1",
            ),
            (
                "HTTPS://email-fips.us-west-2.amazonaws.com",
                "https://email-fips.us-west-2.amazonaws.com",
                "email-fips.us-west-2.amazonaws.com:443",
                "us-west-2",
            ),
            (
                "https://vpce-1-a.email.eu-west-1.vpce.amazonaws.com",
                "https://vpce-1-a.email.eu-west-1.vpce.amazonaws.com",
                "vpce-1-a.email.eu-west-1.vpce.amazonaws.com:443",
                "eu-west-1",
            ),
            ("http://127.0.0.1:8005/ok/", "http://127.0.0.1:8005/ok", "127.0.0.1:8005", "us-east-1"),
            ("http://[::1]/", "http://[::1]", "[::1]:80", "us-east-1"),
            (
                "https://email.eu-west-1.example.com",
                "https://email.eu-west-1.example.com",
                "email.eu-west-1.example.com:443",
                "us-east-1",
            ),
        ] {
            let expected = Endpoint { url: url.to_owned(), host: host.to_owned(), region: region.to_owned() };
            assert_eq!(Endpoint::parse(text), Ok(expected));
        }
    }

    #[test]
    fn what_is_no_url_is_told() {
        for text in
            ["", "email.eu-west-1.amazonaws.com", "ftp://x/", "https://", "https:///", "http://h:p", "http://a b"]
        {
            assert!(Endpoint::parse(text).unwrap_err().contains("not a URL such as"), "{text}");
        }
    }
}
