# The gateway as an image of its own, for use as a sidecar: `docker build -t headgate .`
#
# Settings come by the environment alone: HEADGATE_SECTION__KEY for each of the settings file's, and
#   HEADGATE_UPSTREAM=ses                           where mail goes; the credentials are those of the AWS environment
#   HEADGATE_LISTENER__DEFAULT__ALLOW=10.1.2.0/24   who may relay without a login
# Only loopback may relay until the second is set. That is enough for a sidecar, which shares 127.0.0.1 with the
# application; with a network of its own, the container has to be told its clients.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# The caches outlive the layers, so the binary has to leave them in the same step.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist --bin headgate \
    && install -D target/dist/headgate /out/headgate

FROM debian:bookworm-slim
# The newest certificates are wanted, not those of one day.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o 10001 -g 10001 -m 0750 /var/lib/headgate
COPY --from=build /out/headgate /usr/local/bin/headgate
# Relative paths in the settings start here; mount a volume over it to keep a queue.
WORKDIR /var/lib/headgate
# By number, so that an orchestrator can see that it is not root.
USER 10001:10001
ENV HEADGATE_LISTEN=0.0.0.0:2525
EXPOSE 2525
STOPSIGNAL SIGTERM
# No shell in between: the gateway gets the signal itself, and drains.
ENTRYPOINT ["headgate"]
CMD ["serve"]
