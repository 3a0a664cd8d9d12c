//! Arguments → `cli::run` → exit code.

fn main() -> std::process::ExitCode {
    headgate::cli::run(std::env::args_os())
}
