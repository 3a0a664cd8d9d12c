//! Addresses as SES takes them: enters one address or an address list, leaves the fault in SES's words.
//!
//! No SMTPUTF8: a local part is 7-bit ASCII, a domain is punycode (SES API reference, "Destination"). The texts are
//! those that SES is seen to use; it tells the first fault from the left, so `a b` lacks no domain but has a blank.

/// What ends an atom of a local part (RFC 5322 section 3.2.3), less dot and quote, which have rules of their own.
const SPECIALS: &str = "()<>,;:\\[]";

/// Why SES does not take an address parameter: one mailbox, with or without a display name.
pub(super) fn parameter_fault(text: &str) -> Option<&'static str> {
    match mailboxes(text).as_slice() {
        [] => Some("Invalid email address ."),
        [address] => fault(address).or((!text.is_ascii()).then_some("Illegal address")),
        _ => Some("Illegal address"),
    }
}

/// Why SES does not take an addr-spec (RFC 5322 section 3.4.1).
pub(super) fn fault(address: &str) -> Option<&'static str> {
    let mut quoted = false;
    let mut escaped = false;
    let mut before = '.';
    for (at, c) in address.char_indices() {
        if !c.is_ascii() {
            return Some("Local address contains illegal character");
        }
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            if c.is_ascii_control() {
                return Some("Local address contains control or whitespace");
            }
        } else if c == '@' {
            let (local, domain) = address.split_at(at);
            return dots_fault(local).or_else(|| domain_fault(domain.get(1..).unwrap_or_default()));
        } else if c == '"' && before == '.' {
            quoted = true;
        } else if c == ' ' || c.is_ascii_control() {
            return Some("Local address contains control or whitespace");
        } else if c == '"' || SPECIALS.contains(c) {
            return Some("Local address contains illegal character");
        }
        before = c;
    }
    Some("Missing final '@domain'")
}

fn dots_fault(local: &str) -> Option<&'static str> {
    if local.is_empty() {
        return Some("Missing local name");
    }
    let dot_atom = !local.contains('"');
    let empty_atom = local.split('.').any(str::is_empty);
    (dot_atom && empty_atom).then_some("Local address contains illegal character")
}

fn domain_fault(domain: &str) -> Option<&'static str> {
    if domain.is_empty() {
        return Some("Missing domain");
    }
    if domain.contains(|c: char| c == ' ' || c.is_ascii_control()) {
        return Some("Domain contains control or whitespace");
    }
    let literal = domain.strip_prefix('[').and_then(|d| d.strip_suffix(']'));
    let good = match literal {
        // IPv4 or IPv6 (RFC 5321 section 4.1.3).
        Some(inner) => inner.chars().all(|c| c.is_ascii_alphanumeric() || ".:".contains(c)),
        None => domain.split('.').all(is_label),
    };
    (!good).then_some("Domain contains illegal character")
}

/// Letters, digits and hyphens (RFC 5321 section 4.1.2).
fn is_label(label: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !label.is_empty() && label.chars().all(known)
}

/// The addr-specs of an address list, members of groups included (RFC 5322 section 3.4). What is no mailbox comes out
/// as it stands, for [`fault`] to refuse.
pub(super) fn mailboxes(list: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut closer = None;
    let mut comments = 0_usize;
    let mut escaped = false;
    for c in list.chars() {
        let Some(piece) = pieces.last_mut() else {
            break;
        };
        let literally = escaped;
        escaped = !escaped && c == '\\' && (comments > 0 || closer == Some('"'));
        match c {
            _ if literally && comments == 0 => piece.push(c),
            _ if literally => {}
            '(' if closer.is_none() => comments += 1,
            ')' if comments > 0 => comments -= 1,
            _ if comments > 0 => {}
            _ if closer == Some(c) => {
                closer = None;
                piece.push(c);
            }
            '"' | '[' if closer.is_none() => {
                closer = Some(if c == '[' { ']' } else { c });
                piece.push(c);
            }
            ',' | ';' if closer.is_none() => pieces.push(String::new()),
            // The name of a group ends here; inside a mailbox it is for `fault` to refuse.
            // A quoted name may hold anything.
            ':' if closer.is_none() && !piece.split('"').step_by(2).any(|text| text.contains(['<', '@'])) => {
                piece.clear()
            }
            _ => piece.push(c),
        }
    }
    let addresses = pieces.iter().map(|piece| addr_spec(piece.trim()));
    addresses.flatten().map(str::to_owned).collect()
}

/// What stands in a mailbox's angle brackets, or all of it; None of nothing, as obsolete lists have it.
fn addr_spec(mailbox: &str) -> Option<&str> {
    let inner = mailbox.strip_suffix('>').and_then(|m| m.rsplit_once('<'));
    match inner {
        Some((_, address)) => Some(address),
        None => (!mailbox.is_empty()).then_some(mailbox),
    }
}
