//! `client`: the client's address.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::tree::Node;

use super::{Compiler, Draft, Facts, Matcher, MatcherRow};

pub(super) const ROW: MatcherRow = MatcherRow {
    key: "client",
    doc: "the client's address is in one of these networks",
    example: r#"{ client = ["10.0.0.0/8", "::1"] }"#,
    at_rcpt: true,
    compile,
};

#[derive(Debug)]
struct Client(Vec<IpNet>);

impl Matcher for Client {
    fn matches(&self, facts: &Facts, _: &Draft) -> bool {
        self.0.iter().any(|network| network.contains(&facts.client.address))
    }
}

fn compile(node: &Node, compiler: &mut Compiler) -> Option<Box<dyn Matcher>> {
    let elements = node.as_array().unwrap_or(std::slice::from_ref(node));
    let networks: Vec<Option<IpNet>> = elements.iter().map(|element| network(element, compiler)).collect();
    let networks: Option<Vec<IpNet>> = networks.into_iter().collect();
    Some(Box::new(Client(networks?)))
}

fn network(node: &Node, compiler: &mut Compiler) -> Option<IpNet> {
    let text = compiler.text(node)?;
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    if network.is_none() {
        compiler
            .fault(node, format!("{text:?} is no network; write \"10.0.0.0/8\", \"192.0.2.1\" or \"2001:db8::/32\""));
    }
    network
}
