use super::*;

const OWN: Option<&str> = Some("relay.example.com");

fn mended(list: &str) -> String {
    match mend(list, Letters::Ascii, OWN) {
        Mended::Written(written) => {
            assert_eq!(mend(&written, Letters::Ascii, OWN), Mended::Right, "{list} -> {written}");
            written
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn strict_lists_stay() {
    for list in [
        "a@b.example",
        " Ada Doe <a@b.example> , b@c.example (Bob (Bobby)),\"C, D\" <\"c d\"@e.example>",
        "<a@b.example>",
        "undisclosed-recipients:;",
        "Team: a@b.example, B <b@c.example>; , d@e.example",
        "\"\" <a@b.example>",
        "\"x\" via RT <rt@example.com>",
        "=?utf-8?q?J=C3=BCrgen?= =?iso-8859-1?b?6Q==?= <a@[192.0.2.1]>",
        "=?x-klingon?q?=ff?= <a@b.example> (=?utf-8?q?=C3=A9?=)",
        "=?no <a@b.example>",
        "a@[IPv6:2001:db8::1]",
        "root@localhost",
        "\"=?x-klingon?q?=ff?=\" <a@b.example>",
        "bounce+a=b.example=x@sub-domain.example",
        "averyveryveryveryveryveryveryveryveryveryveryveryveryverylonglocalpartofsixtyfour@example.com",
    ] {
        assert_eq!(mend(list, Letters::Ascii, OWN), Mended::Right, "{list}: {:?}", check(list, Letters::Ascii));
    }
}

fn all_become(table: &[(&str, &str)]) {
    for (list, written) in table {
        assert_eq!(&mended(list), written, "{list}");
    }
}

// An encoded-word over a whole mailbox (RFC 2047 section 5).
#[test]
fn an_encoded_word_over_a_whole_mailbox_is_opened() {
    all_become(&[
        ("=?utf-8?b?5YiY5LyfIDxzZW5kZXJAZXhhbXBsZS5jb20+?=", "=?UTF-8?B?5YiY5Lyf?= <sender@example.com>"),
        ("=?utf-8?q?Ada_=3Cada=40ex?=\t=?utf-8?q?ample=2Ecom=3E?=", "Ada <ada@example.com>"),
        ("=?utf-8?q?Ada_<a@b.example>?=, c@d.example", "Ada <a@b.example>, c@d.example"),
        ("=?utf-8?q?a=40b.example?=", "a@b.example"),
        ("Ada <=?utf-8?q?a=40b.example?=>", "Ada <a@b.example>"),
    ]);
}

// Obsolete white space (RFC 5322 section 4.4).
#[test]
fn obsolete_white_space_goes() {
    all_become(&[
        ("\"Chan, Karen\" <karen @example.net>", "\"Chan, Karen\" <karen@example.net>"),
        ("Ada < a @ b . example >", "Ada <a@b.example>"),
        ("a . b @ c.example", "a.b@c.example"),
        ("a@b.example\u{0}", "a@b.example"),
        ("Ada\u{7}Doe <a@b.example>", "Ada Doe <a@b.example>"),
        ("<a(c)@b.example>", "a@b.example"),
        ("a@b.example\u{a0}, \u{200b}c@d.example", "a@b.example, c@d.example"),
    ]);
}

// Specials in a display name (RFC 5322 section 3.2.3).
#[test]
fn names_with_specials_are_quoted() {
    all_become(&[
        ("Ada Doe, founder of ACME <a@b.example>", "\"Ada Doe, founder of ACME\" <a@b.example>"),
        ("Doe, Ada <a@b.example>, Roe, Bob <c@d.example>", "\"Doe, Ada\" <a@b.example>, \"Roe, Bob\" <c@d.example>"),
        ("Doe; Ada <a@b.example>", "\"Doe; Ada\" <a@b.example>"),
        ("J. R. Example <a@b.example>", "\"J. R. Example\" <a@b.example>"),
        ("evan@example.com <evan@example.com>", "\"evan@example.com\" <evan@example.com>"),
        ("Ada @ ACME <a@b.example>", "\"Ada @ ACME\" <a@b.example>"),
        ("Support: Ada <a@b.example>", "\"Support: Ada\" <a@b.example>"),
        ("Ada [ACME] <a@b.example>", "\"Ada [ACME]\" <a@b.example>"),
        ("Ada (ACME <a@b.example>", "\"Ada (ACME\" <a@b.example>"),
        ("Ada ACME) <a@b.example>", "\"Ada ACME)\" <a@b.example>"),
        ("ACME\\ada <a@b.example>", "\"ACME\\\\ada\" <a@b.example>"),
        ("Ada \"the first <a@b.example>", "\"Ada \\\"the first\" <a@b.example>"),
        ("\"Ada <a@b.example>, \"Bob\" <c@d.example>", "\"\\\"Ada\" <a@b.example>, \"Bob\" <c@d.example>"),
    ]);
}

// Encoded-words that are none (RFC 2047 section 5).
#[test]
fn encoded_words_that_are_none_are_encoded_anew() {
    all_become(&[
        ("=?UTF-8?Q?Drescher,_M=C3=A4h?= <a@b.example>", "=?UTF-8?Q?Drescher=2C_M=C3=A4h?= <a@b.example>"),
        ("\"=?utf-8?q?J=C3=BCrgen?=\" <a@b.example>", "=?UTF-8?Q?J=C3=BCrgen?= <a@b.example>"),
        ("\"=?utf-8?q?Ada?=\" <a@b.example>", "Ada <a@b.example>"),
        ("=?utf-8?q?Ada Doe?= <a@b.example>", "Ada Doe <a@b.example>"),
        ("x=?utf-8?q?=C3=BC?= <a@b.example>", "=?UTF-8?B?eMO8?= <a@b.example>"),
        ("=?utf-8?q?=C3?= =?utf-8?q?=BC?= <a@b.example>", "=?UTF-8?Q?=C3=BC?= <a@b.example>"),
        ("a@b.example (=?utf-8?q?=C3=BC b?=)", "a@b.example (=?UTF-8?Q?=C3=BC_b?=)"),
        ("=?utf-8?q?=C3=BC?= J. <a@b.example>", "=?utf-8?q?=C3=BC?= =?UTF-8?Q?_J=2E?= <a@b.example>"),
    ]);
}

// Names outside ASCII.
#[test]
fn names_outside_ascii_are_encoded() {
    all_become(&[
        ("Jürgen Example <a@b.example>", "=?UTF-8?Q?J=C3=BCrgen?= Example <a@b.example>"),
        ("a@b.example (Jürgen)", "a@b.example (=?UTF-8?Q?J=C3=BCrgen?=)"),
        ("Größe: a@b.example;", "=?UTF-8?B?R3LDtsOfZQ==?=: a@b.example;"),
    ]);
}

// Angle brackets.
#[test]
fn angle_brackets_are_put_right() {
    all_become(&[
        ("Ada <a@b.example", "Ada <a@b.example>"),
        ("Ada a@b.example>", "Ada <a@b.example>"),
        ("Ada a@b.example", "Ada <a@b.example>"),
        ("Ada <<a@b.example>>", "Ada <a@b.example>"),
        ("Ada <a@b.example, Bob <c@d.example>", "Ada <a@b.example>, Bob <c@d.example>"),
        ("<a@b.example> Ada", "Ada <a@b.example>"),
        ("<a@b.example> <a@b.example>", "a@b.example"),
        ("Ada <a@b.example> Bob <c@d.example>", "Ada <a@b.example>, Bob <c@d.example>"),
        ("Ada <ACME> <a@b.example>", "\"Ada <ACME>\" <a@b.example>"),
        ("Ada <a@b.example, c@d.example>", "Ada <a@b.example>, c@d.example"),
        ("\"Ada <a@b.example>\"", "Ada <a@b.example>"),
        ("a@b.example c@d.example", "a@b.example, c@d.example"),
    ]);
}

// Separators.
#[test]
fn one_comma_stands_between_two_entries() {
    all_become(&[
        (", a@b.example,, c@d.example,", "a@b.example, c@d.example"),
        ("a@b.example; Ada <c@d.example>;", "a@b.example, Ada <c@d.example>"),
    ]);
}

// Around addresses.
#[test]
fn what_stands_around_an_address_goes() {
    all_become(&[
        ("mailto:a@b.example", "a@b.example"),
        ("Ada <MAILTO:a@b.example>", "Ada <a@b.example>"),
        ("Ada [mailto:a@b.example]", "Ada <a@b.example>"),
        ("a@b.example.", "a@b.example"),
        ("'a@b.example'", "a@b.example"),
        ("Ada <'a@b.example'>", "Ada <a@b.example>"),
        ("Ada <\"a@b.example\">", "Ada <a@b.example>"),
        ("<@x.example,@y.example:a@b.example>", "a@b.example"),
        ("a..b@c.example, d.@c.example", "\"a..b\"@c.example, \"d.\"@c.example"),
    ]);
}

// Local parts alone.
#[test]
fn local_parts_alone_get_our_domain() {
    all_become(&[
        ("MAILER-DAEMON", "MAILER-DAEMON@relay.example.com"),
        ("root (Cron Daemon)", "root@relay.example.com (Cron Daemon)"),
        ("Cron Daemon <root>", "Cron Daemon <root@relay.example.com>"),
        ("root, a@b.example", "root@relay.example.com, a@b.example"),
    ]);
}

// Groups.
#[test]
fn groups_are_closed_and_not_nested() {
    all_become(&[
        ("undisclosed-recipients:", "undisclosed-recipients:;"),
        ("undisclosed-recipients", "undisclosed-recipients:;"),
        ("<Undisclosed Recipients>", "Undisclosed Recipients:;"),
        ("Team: a@b.example, c@d.example", "Team: a@b.example, c@d.example;"),
        ("A.B: a @b.example;, c@d.example", "\"A.B\": a@b.example;, c@d.example"),
        ("Outer: a@b.example, Inner: c@d.example;; e@f.example", "Outer: a@b.example, c@d.example;, e@f.example"),
    ]);
}

#[test]
fn an_entry_that_is_right_stays_as_it_is() {
    assert_eq!(
        mended("=?iso-8859-1?q?J=FCrgen?=  <a@b.example> (x), c@d .example, G : \"e\" <e@f.example>;"),
        "=?iso-8859-1?q?J=FCrgen?=  <a@b.example> (x), c@d.example, G : \"e\" <e@f.example>;"
    );
}

#[test]
fn what_no_address_can_be_made_of_is_left() {
    for list in [
        "Evan",
        "Evan Example",
        "Ada <a b@c.example>",
        "Ada <>",
        "a@b@c.example",
        "a@.example",
        "a@exa_mple.com",
        "@b.example",
        "a@",
        "Evan, a@b.example",
        "a\u{0}b@c.example",
    ] {
        assert_eq!(mended(list), "Unreadable", "{list}");
    }
    for list in ["", " ", ",", ";", " , (nobody) ,"] {
        assert_eq!(mended(list), "Empty", "{list}");
    }
    assert_eq!(mend("root", Letters::Ascii, None), Mended::Unreadable);
}

#[test]
fn addresses_outside_ascii_are_left_to_others() {
    let list = "Jürgen <用户@bücher.example>";
    assert_eq!(mend(list, Letters::Utf8, OWN), Mended::Right);
    assert_eq!(
        mend(list, Letters::Ascii, OWN),
        Mended::Written("=?UTF-8?Q?J=C3=BCrgen?= <用户@bücher.example>".into())
    );
    let domains: Vec<&str> = check(list, Letters::Utf8).unwrap().iter().map(|spec| spec.domain).collect();
    assert_eq!(domains, ["bücher.example"]);
}

#[test]
fn long_lists_are_folded_behind_commas_and_long_names_at_blanks() {
    let list: Vec<String> = (0..9).map(|at| format!("User {at} <user{at}@department.example.com>")).collect();
    let field = folded("To", &list.join(", "));
    assert!(field.split("\r\n").all(|line| line.len() <= 78), "{field}");
    assert!(field.trim_end().rsplit_once("\r\n").unwrap().0.split("\r\n").all(|line| line.ends_with(',')), "{field}");
    assert_eq!(field.replace("\r\n", ""), format!("To: {}", list.join(", ")));
    let name = format!("{} <\"a b\"@example.com>", "Long ".repeat(20).trim_end());
    let field = folded("From", &name);
    assert!(field.contains("\"a b\"@example.com") && field.split("\r\n").all(|line| line.len() <= 78), "{field}");
    assert_eq!(folded("Sender", "a@b.example"), "Sender: a@b.example\r\n");
}

#[test]
fn faults_are_told_apart() {
    use Fault::*;
    for (list, fault) in [
        ("", Empty),
        ("Evan", NoAt),
        ("Ada Doe, x <a@b.example>", LocalBlank),
        ("@b.example", NoLocal),
        ("Ada <>", NoLocal),
        ("a@", NoDomain),
        ("a @b.example", LocalBlank),
        ("a..b@c.example", LocalIllegal),
        ("a[b@c.example", LocalIllegal),
        ("用户@b.example", LocalNotAscii),
        ("a@ b.example", DomainBlank),
        ("<a@b.example >", DomainBlank),
        ("a@b_c.example", DomainIllegal),
        ("a@b.example.", DomainIllegal),
        ("a@bücher.example", DomainNotAscii),
        ("<@a.example:b@c.example>", Route),
        ("Ada <a@b.example", Angle),
        ("<a@b.example> Ada", Angle),
        ("A. Doe <a@b.example>", Phrase),
        ("=?utf-8?q?a b?= <a@b.example>", Word),
        ("Jürgen <a@b.example>", NotAscii),
        ("A\u{1} <a@b.example>", Control),
        ("a@b.example,, c@d.example", Separator),
        ("a@b.example; c@d.example", Separator),
        ("A: a@b.example", Group),
    ] {
        assert_eq!(check(list, Letters::Ascii).map_err(|flaw| flaw.fault), Err(fault), "{list}");
    }
    assert_eq!(check("a@b.example, Ada, c@d.example", Letters::Ascii).unwrap_err().near, "Ada");
}

#[test]
fn many_faults_take_no_square_of_their_number() {
    for list in ["a;", "a<", "<@", "a:"] {
        let list = list.repeat(100_000);
        let (specs, flaws) = survey(&list, Letters::Utf8);
        assert_eq!((specs.len(), flaws.len()), (0, 100_000), "{:?}", list.get(..2));
    }
    let near: Vec<&str> = survey("a, b c <d, e@, f", Letters::Utf8).1.iter().map(|flaw| flaw.near).collect();
    assert_eq!(near, ["a", "b c <d", "e@", "f"]);
}

mod properties {
    use proptest::prelude::*;

    use super::*;
    use crate::mime::mailboxes;

    /// Legal mailboxes, groups and lists of both, with local parts of one form or both.
    fn legal(local: BoxedStrategy<String>) -> impl Strategy<Value = String> {
        let name = prop_oneof![
            Just(String::new()),
            "[A-Za-z'!-]{1,8}( [A-Za-z]{1,8}){0,2} ",
            "\"[A-Za-z ,.@<>:;()]{0,12}\" ",
            "=\\?utf-8\\?q\\?(=C3=A9|[A-Za-z_]){1,9}\\?= ",
            "=\\?iso-8859-1\\?b\\?6Q==\\?=  =\\?utf-8\\?b\\?w6k=\\?=\t",
        ];
        let domain = prop_oneof!["[a-z][a-z0-9]{0,9}(\\.[a-z]{2,5}){0,3}", Just("[192.0.2.1]".to_owned())];
        let comment = prop_oneof![Just(String::new()), " \\([A-Za-z ]{0,9}\\)"];
        let mailbox = (name, local, domain, comment)
            .prop_map(|(name, local, domain, comment)| format!("{name}<{local}@{domain}>{comment}"));
        let bare = "[a-z]{1,9}@[a-z]{1,9}\\.example";
        let mailbox = prop_oneof![mailbox, bare].boxed();
        let members = proptest::collection::vec(mailbox.clone(), 0..3).prop_map(|members| members.join(","));
        let group = ("[A-Za-z]{1,9}", members).prop_map(|(name, members)| format!("{name}: {members};"));
        let entry = prop_oneof![4 => mailbox, 1 => group.boxed()];
        proptest::collection::vec(entry, 1..5).prop_map(|entries| entries.join(", "))
    }

    fn dot_atom() -> BoxedStrategy<String> {
        "[a-z0-9+=/_-]{1,9}(\\.[a-z]{1,5}){0,2}".boxed()
    }

    fn any_local() -> BoxedStrategy<String> {
        prop_oneof![dot_atom(), "\"[a-z ]{1,9}\""].boxed()
    }

    fn addresses(list: &str) -> Vec<String> {
        let found = mailboxes(list.as_bytes()).into_iter().map(|one| one.address);
        found.filter(|address| address.contains('@') && address.is_ascii()).collect()
    }

    proptest! {
        #[test]
        fn a_legal_list_is_left_alone(list in legal(any_local())) {
            prop_assert_eq!(mend(&list, Letters::Ascii, OWN), Mended::Right, "{:?}", check(&list, Letters::Ascii));
        }

        #[test]
        fn the_addresses_of_a_legal_list_survive_what_happens_to_their_names(list in legal(dot_atom()), broken in "[a-z. ]{0,9}é") {
            let list = format!("{broken} <x@y.example>, {list}");
            match mend(&list, Letters::Ascii, OWN) {
                Mended::Written(written) => prop_assert_eq!(addresses(&written), addresses(&list)),
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn any_text_is_right_once_it_is_mended(list in "([ -~é\\x00\t]|<a@b>|@|, |; |=\\?utf-8\\?q\\?|\\?=|\"|\\(|\\)|: ){0,30}") {
            if let Mended::Written(written) = mend(&list, Letters::Utf8, OWN) {
                prop_assert_eq!(mend(&written, Letters::Utf8, OWN), Mended::Right, "{}", written);
            }
            if let Mended::Written(written) = mend(&list, Letters::Ascii, OWN) {
                let specs = check(&written, Letters::Utf8).unwrap();
                if specs.iter().all(|spec| spec.local.is_ascii() && spec.domain.is_ascii()) {
                    prop_assert_eq!(mend(&written, Letters::Ascii, OWN), Mended::Right, "{}", written);
                }
                prop_assert_eq!(folded("To", &written).replace("\r\n", ""), format!("To: {}", written));
            }
        }
    }
}
