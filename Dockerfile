# The image of the controller. `make image` builds it; docs/image.md says what is inside.
#
# BUILDER  image with Rust, for the binary; any image will do where BINARY is given
# BINARY   a binary of `make release` in the build context, such as target/narthex-x86_64; empty: it is built here
# BASE     Debian 13, whose packages make the system
ARG BUILDER=docker.io/library/rust:1.95-slim-trixie
ARG BASE=docker.io/library/debian:trixie-slim

FROM ${BUILDER} AS binary
ARG BINARY=
WORKDIR /narthex
COPY . .
RUN set -eu; binary=$BINARY; \
    if [ -z "$binary" ]; then scripts/release.sh; binary=target/narthex-$(uname -m); fi; \
    mkdir /out; cp "$binary" /out/narthex; cp "$binary.crates" /out/crates

FROM ${BASE} AS system
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE_DATE_EPOCH=0
RUN --mount=type=bind,source=scripts/image,target=/mnt --mount=type=bind,from=binary,source=/out,target=/media \
    sh -eu /mnt/install.sh && sh -eu /mnt/sbom.sh /media/crates "$VERSION" "$REVISION" "$SOURCE_DATE_EPOCH" && sh -eu /mnt/finish.sh "$SOURCE_DATE_EPOCH"

# Without what the steps above removed. What has capabilities is made here: not every builder copies them.
FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE_DATE_EPOCH=0
ARG CREATED=1970-01-01T00:00:00Z
ARG BASE
COPY --from=system / /
RUN --mount=type=bind,source=scripts/image,target=/mnt --mount=type=bind,from=binary,source=/out,target=/media \
    sh -eu /mnt/capable.sh /media/narthex "$SOURCE_DATE_EPOCH"
LABEL org.opencontainers.image.title="Narthex" \
      org.opencontainers.image.description="An ingress controller for Kubernetes on NGINX" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${BASE}"
# The work directory of a user who is not root: /run/narthex, or below /tmp where that is read-only.
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin XDG_RUNTIME_DIR=/run
WORKDIR /etc/nginx
USER 101:82
EXPOSE 80 443 8443 10254
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/narthex"]
CMD ["/nginx-ingress-controller"]
