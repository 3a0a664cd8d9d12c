//! The program; its rooms come one by one.

fn main() {}
