//! What SES refuses in the body: blocked files, too many parts, MIME fields that it cannot read.

use crate::{
    header::{self, Header},
    mail::Message,
    mime::{Grammar, Parts, attachments, check},
};

use super::{Finding, refuse, warn};

/// Parts of a message at most (SES quotas).
const PARTS: usize = 500;

/// Extensions that SES does not deliver, sorted (SES developer guide, unsupported attachment types).
const BLOCKED: &[&str] = &[
    "ade", "adp", "app", "asp", "bas", "bat", "cer", "chm", "cmd", "com", "cpl", "crt", "csh", "der", "exe", "fxp",
    "gadget", "hlp", "hta", "inf", "ins", "isp", "its", "js", "jse", "ksh", "lib", "lnk", "mad", "maf", "mag", "mam",
    "maq", "mar", "mas", "mat", "mau", "mav", "maw", "mda", "mdb", "mde", "mdt", "mdw", "mdz", "msc", "msh", "msh1",
    "msh1xml", "msh2", "msh2xml", "mshxml", "msi", "msp", "mst", "ops", "pcd", "pif", "plg", "prf", "prg", "ps1",
    "ps1xml", "ps2", "ps2xml", "psc1", "psc2", "reg", "scf", "scr", "sct", "shb", "shs", "sys", "tmp", "url", "vb",
    "vbe", "vbs", "vps", "vsmacros", "vss", "vst", "vsw", "vxd", "ws", "wsc", "wsf", "wsh", "xnk",
];

pub(super) fn findings(header: &Header, message: &Message, found: &mut Vec<Finding>) {
    let first_line = header::lines(&message.head).count();
    for file in attachments(header, &message.rest) {
        let extension = file.name.rsplit_once('.').map(|(_, extension)| extension.trim().to_ascii_lowercase());
        if let Some(extension) = extension.filter(|one| BLOCKED.binary_search(&one.as_str()).is_ok()) {
            let part = if file.part.is_empty() { String::new() } else { format!(" in part {}", file.part) };
            let line = if file.line == 0 { 0 } else { first_line + file.line };
            found.push(refuse(line, format!("attachment {:?}{part}: SES blocks .{extension}", file.name)));
        }
    }
    let parts = Parts::of(header, &message.rest);
    if !parts.complete || parts.list.len() > PARTS {
        found.push(warn(0, format!("more than {PARTS} MIME parts")));
    }
    for (index, part) in parts.list.iter().enumerate() {
        if index == 0 {
            found.extend(mime_faults(header, 1).map(|(line, text)| refuse(line, text)));
        } else {
            let before = header::lines(message.rest.get(..part.header.start).unwrap_or_default()).count();
            let inner = Header::parse(&message.rest.slice(part.header.clone()));
            let faults = mime_faults(&inner, first_line + before + 1);
            found.extend(faults.map(|(line, text)| warn(line, format!("in part {}: {text}", parts.number(index)))));
        }
    }
}

/// `Expected ';', got ":"` and its like, with their lines. SES was seen to say so of the message's own header; of the
/// headers of parts it is a guess.
fn mime_faults(header: &Header, first: usize) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut line = first;
    header.positions().filter_map(move |at| {
        let here = line;
        line += header::lines(header.whole(at)).count();
        let name = header.name(at)?;
        let fault = check(Grammar::of(name)?, header.raw(at)).err()?;
        Some((here, format!("{name}: {fault}")))
    })
}

#[cfg(test)]
mod tests {
    use super::BLOCKED;

    #[test]
    fn the_extensions_are_sorted() {
        assert!(BLOCKED.is_sorted());
    }
}
