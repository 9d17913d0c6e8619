# syntax=docker/dockerfile:1
# PolicySieve as a service: no root, nothing to write to but /tmp and the cache, nothing in it but what runs.
#
#   docker build --tag policysieve .
#   docker run --read-only --tmpfs /tmp --volume "$PWD/examples/shop:/policies:ro" policysieve serve --help

FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=/build/constraints.txt PIP_BUILD_CONSTRAINT=/build/constraints.txt
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/policysieve && /opt/policysieve/bin/python -m pip install ".[serve,sklearn]"
# Kernels are compiled once, here. Where they run, the folder must be one that can be written to: a volume, which begins
# as a copy of this one, or a tmpfs, where they are compiled when they are first called.
ENV NUMBA_CACHE_DIR=/var/cache/policysieve PATH=/opt/policysieve/bin:$PATH
RUN policysieve demo --rounds 2000 --classifiers 20 --folder /tmp/demo

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 policysieve && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin policysieve
COPY --from=build /opt/policysieve /opt/policysieve
COPY --from=build --chown=10001:10001 /var/cache/policysieve /var/cache/policysieve
ENV PATH=/opt/policysieve/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    MPLCONFIGDIR=/tmp \
    NUMBA_CACHE_DIR=/var/cache/policysieve
USER 10001:10001
WORKDIR /policies
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["policysieve"]
CMD ["--help"]
