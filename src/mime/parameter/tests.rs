//! Values as mailers write them, and an independent reader to compare with.

use mail_parser::{MessageParser, MimeHeaders};
use proptest::prelude::*;

use super::*;

fn mended(name: &str, value: &str) -> String {
    mended_octets(name, value.as_bytes())
}

fn mended_octets(name: &str, value: &[u8]) -> String {
    match mend(Grammar::of(name).unwrap(), name, value) {
        Mend::Keep => "(kept)".to_owned(),
        Mend::Drop => "(dropped)".to_owned(),
        Mend::Write(field) => {
            let start = format!("{name}: ");
            field.strip_prefix(&start).and_then(|value| value.strip_suffix("\r\n")).unwrap().to_owned()
        }
    }
}

fn content_type(value: &str) -> String {
    mended("Content-Type", value)
}

fn disposition(value: &str) -> String {
    mended("Content-Disposition", value)
}

#[test]
fn a_value_that_the_grammar_allows_is_kept() {
    for value in [
        " text/plain",
        " text/plain; charset=us-ascii (Plain text)",
        " Text/HTML ;\r\n\tCharset = \"UTF-8\" ; format=flowed",
        " multipart/mixed; boundary=\"a b\\\"c\"",
        " application/pdf; name=\"C:\\\\dir\\\\x.pdf\"",
        " (comment) text / (nested (comment)) plain; x=\"\"",
        " message/external-body; access-type=URL;\r\n URL*0=\"ftp://\"; URL*1=\"cs.example.com/x\"",
        " text/plain; charset='utf-8'",
    ] {
        assert_eq!(check(Grammar::Type, value.as_bytes()), Ok(()), "{value}");
        assert_eq!(content_type(value), "(kept)", "{value}");
    }
    for value in [
        " attachment",
        " inline; filename=\"a; b.txt\"; size=12",
        " attachment; filename=a.txt; filename*=UTF-8''%C3%BC.txt",
        " attachment; filename*0*=UTF-8''%C3; filename*1*=%BC; filename*2=\".txt\"",
    ] {
        assert_eq!(disposition(value), "(kept)", "{value}");
    }
}

#[test]
fn punctuation_is_put_right() {
    assert_eq!(content_type(" text/html; charset=UTF-8;"), "text/html; charset=UTF-8");
    assert_eq!(content_type(" text/html;; charset=UTF-8; ;"), "text/html; charset=UTF-8");
    assert_eq!(content_type(" text/html charset=UTF-8 format=flowed"), "text/html; charset=UTF-8; format=flowed");
    assert_eq!(content_type(" text/html, charset=UTF-8, format=flowed"), "text/html; charset=UTF-8; format=flowed");
    assert_eq!(content_type(" text/html: charset=UTF-8"), "text/html; charset=UTF-8");
    assert_eq!(content_type(": text/html; charset: UTF-8"), "text/html; charset=UTF-8");
    assert_eq!(content_type(" text/html; charset==UTF-8"), "text/html; charset=UTF-8");
    assert_eq!(content_type(" text:html"), "text/html");
    assert_eq!(content_type(" \"text/html\"; charset=UTF-8"), "text/html; charset=UTF-8");
    assert_eq!(content_type(" \"text/html; charset=UTF-8\""), "text/html; charset=UTF-8");
    assert_eq!(content_type(" text/html/x; charset=UTF-8"), "text/html; charset=UTF-8");
    assert_eq!(disposition(" attachment filename=\"a b\""), "attachment; filename=\"a b\"");
    assert_eq!(disposition(" attachment: filename=a"), "attachment; filename=a");
}

#[test]
fn parameters_without_a_value_go() {
    assert_eq!(content_type(" text/plain; charset"), "text/plain");
    assert_eq!(content_type(" text/plain; charset=; format=flowed"), "text/plain; format=flowed");
    assert_eq!(content_type(" text/plain; utf-8"), "text/plain");
    assert_eq!(content_type(" text/plain; charset=a; CHARSET=b"), "text/plain; charset=a");
}

#[test]
fn a_missing_type_is_found() {
    assert_eq!(content_type(" text"), "text/plain");
    assert_eq!(content_type(" text/; charset=UTF-8"), "text/plain; charset=UTF-8");
    assert_eq!(content_type(" ; charset=UTF-8"), "text/plain; charset=UTF-8");
    assert_eq!(content_type(" charset=UTF-8"), "text/plain; charset=UTF-8");
    assert_eq!(content_type(" boundary=\"b 1\""), "multipart/mixed; boundary=\"b 1\"");
    assert_eq!(content_type(" image; name=x.png"), "application/octet-stream; name=x.png");
    assert_eq!(content_type(""), "text/plain");
    assert_eq!(disposition(" filename=\"invoice.pdf\""), "attachment; filename=\"invoice.pdf\"");
    assert_eq!(disposition(" ; filename=invoice.pdf"), "attachment; filename=invoice.pdf");
    assert_eq!(disposition(" = attachment"), "attachment");
    assert_eq!(disposition(" =?utf-8?Q?attachment=3B_filename=3D=22x.pdf=22?="), "attachment; filename=\"x.pdf\"");
    assert_eq!(disposition(" "), "(dropped)");
    assert_eq!(disposition(" =;"), "(dropped)");
}

#[test]
fn values_are_quoted_where_they_must_be() {
    assert_eq!(disposition(" attachment; filename=test hello.txt"), "attachment; filename=\"test hello.txt\"");
    assert_eq!(disposition(" attachment; filename=a (1).txt; size=3"), "attachment; filename=\"a (1).txt\"; size=3");
    assert_eq!(disposition(" attachment; filename=a b.txt size=3"), "attachment; filename=\"a b.txt\"; size=3");
    assert_eq!(
        disposition(" attachment; filename=\"my \"best\" file.txt\""),
        r#"attachment; filename="my \"best\" file.txt""#
    );
    assert_eq!(disposition(" attachment; filename=\"a.txt"), "attachment; filename=a.txt");
    assert_eq!(disposition(" attachment; filename=\"a.txt; size=3"), "attachment; filename=a.txt; size=3");
    assert_eq!(
        disposition(r#" attachment; filename="C:\dir\"; size=3"#),
        r#"attachment; filename="C:\\dir\\"; size=3"#
    );
    assert_eq!(disposition(r#" attachment; filename="a\"b"; x"#), r#"attachment; filename="a\"b""#);
    assert_eq!(
        content_type(" multipart/mixed; boundary=----=_Part_1?2"),
        "multipart/mixed; boundary=\"----=_Part_1?2\""
    );
    assert_eq!(content_type(" text/plain; charset=utf-8 (x) y; a=b"), "text/plain; charset=utf-8; a=b");
    assert_eq!(content_type(" text/plain; charset=utf-8\"; a=b"), "text/plain; charset=utf-8; a=b");
}

#[test]
fn file_names_that_are_not_ascii_follow_rfc_2231() {
    let utf8 = "attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20x.pdf";
    assert_eq!(disposition(" attachment; filename=\"Größe x.pdf\""), utf8);
    assert_eq!(disposition(" attachment; filename=Größe x.pdf"), utf8);
    assert_eq!(mended_octets("Content-Disposition", b" attachment; filename=\"Gr\xf6\xdfe x.pdf\""), utf8);
    assert_eq!(disposition(" attachment; filename=\"=?utf-8?Q?Gr=C3=B6=C3=9Fe_x=2Epdf?=\""), utf8);
    assert_eq!(disposition(" attachment; filename==?iso-8859-1?Q?Gr=F6=DFe_x?=.pdf"), utf8);
    assert_eq!(disposition(" attachment; filename=\"=?utf-8?Q?a_b?=.pdf\""), "attachment; filename=\"a b.pdf\"");
    assert_eq!(
        disposition(" attachment; filename=\"ü\"; filename*=UTF-8''%C3%BC"),
        "attachment; filename*=UTF-8''%C3%BC"
    );
    assert_eq!(disposition(" attachment; filename*=ü.txt"), "attachment; filename*=UTF-8''%C3%BC.txt");
    assert_eq!(disposition(" attachment; filename*=a b.txt"), "attachment; filename=\"a b.txt\"");
    assert_eq!(disposition(" attachment; filename*=\"UTF-8''a%20b\""), "attachment; filename=\"a b\"");
    assert_eq!(
        disposition(" attachment; filename*0=\"Grö\"; filename*1=ße"),
        "attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe"
    );
}

#[test]
fn a_long_field_is_folded_between_parameters_only() {
    let name = "word ".repeat(20);
    let field = content_type(&format!(" application/pdf; name={name}.pdf; x=y;"));
    assert_eq!(field, format!("application/pdf;\r\n name=\"{name}.pdf\";\r\n x=y"));
}

#[test]
fn a_boundary_that_could_not_be_written_is_kept() {
    assert_eq!(content_type(" multipart/mixed; boundary=bü;"), "(kept)");
}

#[test]
fn faults_are_named_as_ses_names_them() {
    let fault = |grammar, value: &str| check(grammar, value.as_bytes()).unwrap_err().to_string();
    assert_eq!(fault(Grammar::Type, "text/html : x"), "Expected ';', got \":\"");
    assert_eq!(fault(Grammar::Type, "text; charset=x"), "Expected '/', got \";\"");
    assert_eq!(fault(Grammar::Type, "text/plain; charset"), "Expected '=', got null");
    assert_eq!(fault(Grammar::Disposition, "=x"), "Expected disposition, got \"=\"");
    assert_eq!(fault(Grammar::Disposition, "attachment; filename=a b.txt"), "Expected ';', got \"b.txt\"");
    assert_eq!(check(Grammar::Type, b"a/b; c=\"d"), Err(Fault::Open));
    assert_eq!(check(Grammar::Type, b"a/b;"), Err(Fault::Empty));
    assert_eq!(check(Grammar::Type, "a/b; c=\"ü\"".as_bytes()), Err(Fault::NotAscii));
    assert_eq!(check(Grammar::Type, b"a/b; c=d; C=e"), Err(Fault::Twice("C".to_owned())));
}

#[test]
fn a_long_value_takes_linear_time() {
    for piece in ["(", "\"", ";(", "a=\"x;", "a=", "\\", " b", "a=\"\" \"", ";a*0*=%", "=?", "a=b c="] {
        let value = format!(" x/y; {}", piece.repeat(200_000));
        let _ = mend(Grammar::Type, "Content-Type", value.as_bytes());
        let _ = mend(Grammar::Disposition, "Content-Disposition", value.as_bytes());
    }
}

/// The name of the attachment that an independent reader finds.
fn independent(value: &str) -> Option<String> {
    let raw = format!("From: a@example.com\r\nContent-Disposition: {value}\r\n\r\nx");
    let message = MessageParser::default().parse(raw.as_bytes())?;
    message.part(0)?.attachment_name().map(str::to_owned)
}

const PIECES: &[&str] = &[
    "text",
    "/",
    "plain",
    ";",
    " ",
    "charset",
    "=",
    "\"",
    "utf-8",
    "(",
    ")",
    "\\",
    "filename",
    "*",
    "0",
    "'",
    "%",
    "C3",
    "ü",
    "=?utf-8?Q?=C3=BC?=",
    "name",
    ":",
    ",",
    "\t",
    "\r\n ",
    "boundary",
    "a.b",
    "\u{7f}",
];

proptest! {
    #[test]
    fn what_is_mended_is_right_and_stays(pieces in proptest::collection::vec(0..PIECES.len(), 0..24)) {
        let value: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
        for name in ["Content-Type", "content-disposition"] {
            let grammar = Grammar::of(name).unwrap();
            if let Mend::Write(field) = mend(grammar, name, value.as_bytes()) {
                let written = field.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap();
                prop_assert_eq!(check(grammar, written.as_bytes()), Ok(()), "{:?} -> {:?}", value, field);
                prop_assert_eq!(mend(grammar, name, written.as_bytes()), Mend::Keep);
                let boundary = |value: &str| Value::read(grammar, value.as_bytes()).boundary();
                prop_assert_eq!(boundary(&value), boundary(written));
            }
        }
    }

    #[test]
    fn no_octets_end_the_readers(value in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = check(Grammar::Type, &value);
        let _ = mend(Grammar::Type, "Content-Type", &value);
        let _ = Value::read(Grammar::Disposition, &value).file_name();
    }

    #[test]
    fn a_file_name_reads_the_same_elsewhere(name in "[a-zäöü日 ().,'%!#-]{1,30}[a-z]") {
        let written = disposition(&format!(" attachment; filename=\"{name}\";"));
        prop_assert_eq!(independent(&written), Some(name.clone()), "{}", written);
        let read = Value::read(Grammar::Disposition, written.as_bytes()).file_name();
        prop_assert_eq!(read, Some(name));
    }
}
