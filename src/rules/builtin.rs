//! The shipped rule files, named `builtin:NAME`.

/// Name and text of each.
pub const BUILTINS: &[(&str, &str)] = &[
    ("rt", include_str!("../../rules/rt.toml")),
    ("ses", include_str!("../../rules/ses.toml")),
    ("ses-2011", include_str!("../../rules/ses-2011.toml")),
    ("ses-minimal", include_str!("../../rules/ses-minimal.toml")),
];
