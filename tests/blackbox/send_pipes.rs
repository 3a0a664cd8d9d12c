//! What a mail server gives a command for its output: one pipe for all, perhaps full, perhaps closed.

use std::{
    io::{Read as _, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Stdio,
};

use crate::{
    fake_ses::Answer,
    send::{MAIL, Scene},
};

/// Runs the command with that pipe for stdout and stderr; the exit code.
fn run_into(scene: &Scene, pipe: OwnedFd, arguments: &[&str]) -> Option<i32> {
    let endpoint = scene.fake.endpoint();
    let mut command = scene.link.command();
    command.args(["-k", "credentials", "-e", &endpoint]).args(arguments);
    command.stdin(Stdio::piped()).stdout(pipe.try_clone().unwrap()).stderr(pipe);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(MAIL.as_bytes()).unwrap();
    child.wait().unwrap().code()
}

#[test]
fn a_full_pipe_that_does_not_block_changes_no_exit_code() {
    for (answer, code) in [(Answer::Accept, 0), (Answer::error(400, "BadRequestException", "no"), 1)] {
        let scene = Scene::script();
        scene.fake.otherwise(answer);
        // A pair of sockets stands for the pipe: these can be told not to block.
        let (mut reader, mut writer) = UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        while writer.write(&[b'x'; 4096]).is_ok() {}
        assert_eq!(
            run_into(&scene, writer.try_clone().unwrap().into(), &["-r", "--verbose", "b@example.net"]),
            Some(code)
        );
        drop(writer);
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert!(all.iter().all(|octet| *octet == b'x'));
    }
}

#[test]
fn a_pipe_that_nobody_reads_changes_no_exit_code() {
    for (answer, code) in [(Answer::Accept, 0), (Answer::error(400, "BadRequestException", "no"), 1)] {
        let scene = Scene::script();
        scene.fake.otherwise(answer);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(run_into(&scene, writer.into(), &["-r", "--verbose", "b@example.net"]), Some(code));
    }
}
