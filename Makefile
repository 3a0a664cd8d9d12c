# What to do with a checkout. Each target first installs what the machine lacks (scripts/install).

# The steps of a target are an order, also under -j.
.NOTPARALLEL:
.PHONY: help run test build check proof bench command load fuzz clean

help:
	@echo 'make run     try it: a gateway on 127.0.0.1:2525 that delivers into .outbox, and one mail through it'
	@echo 'make test    all checks and tests, with real mail servers and an emulator of SES'
	@echo 'make build   the development binary, target/debug/headgate'
	@echo 'make check   formatting and lints only'
	@echo 'make proof   kills, full disks and an angry SES for minutes: nothing is lost'
	@echo 'make bench   how fast the parts are'
	@echo 'make command what one headgate send costs beside the script it replaces'
	@echo 'make load    the gateway beside Postfix under load; LOAD="handshakes --rounds 3" chooses'
	@echo 'make fuzz    feeds each target of fuzz/ for a minute; scripts/fuzz feeds one as long as you like'
	@echo 'make clean   remove what the other targets made here'

run:
	@scripts/install run
	cargo build --locked
	@scripts/run-demo

# The cases come before the tests, so that the closing line of the run is that of the test runner.
test:
	@scripts/install test
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	@scripts/supply-chain
	cargo build --locked
	@scripts/play-cases target/debug/headgate
	cargo nextest run --locked $(if $(CI),--profile ci)

build:
	@scripts/install build
	cargo build --locked

check:
	@scripts/install build
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings

proof:
	@scripts/install test
	cargo nextest run --locked --cargo-profile release --profile proof --run-ignored only -E 'test(proof_of)'

bench:
	@scripts/install build
	AWS_ACCESS_KEY_ID=bench AWS_SECRET_ACCESS_KEY=bench cargo bench --locked --bench parts

command:
	@scripts/install bench
	cargo bench --locked --bench command

load:
	@scripts/install test
	cargo build --release --locked
	cargo bench --locked --bench load -- $(LOAD)

fuzz:
	@scripts/install fuzz
	for target in header editor mime session auth proxy rules; do scripts/fuzz $$target 60 || exit 1; done

clean:
	cargo clean
	rm -rf .outbox .tools fuzz/target fuzz/corpus fuzz/seeds fuzz/artifacts
