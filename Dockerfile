# Agent-Reach: gateway and worker in one image; the command chooses.
#
#   docker build -t agent-reach .
#   docker run --rm agent-reach --help
#   docker run … agent-reach gateway --no-worker --config /etc/agent-reach/agent-reach.yaml
#   docker run … agent-reach worker --config /etc/agent-reach/agent-reach.yaml
#
# Debian, not Alpine: the Temporal SDK's native library is built for glibc.

# 1. Compile with everything.
FROM node:20.19.5-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY src ./src
COPY workflows ./workflows
COPY activities ./activities
COPY examples ./examples
COPY bench ./bench
COPY test/chaos ./test/chaos
RUN npm run build

# 2. Run with what running needs: production dependencies and the compiled code, no sources, no compiler.
FROM node:20.19.5-bookworm-slim AS run
ENV NODE_ENV=production
# Less memory at the same speed: two arenas for the native library instead of eight a core, a young generation of 4 MB
# instead of 16 (docs/operations.md has the figures).
ENV MALLOC_ARENA_MAX=2 NODE_OPTIONS=--max-semi-space-size=4
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm cache clean --force
COPY --from=build /app/dist/src ./dist/src
COPY --from=build /app/dist/workflows ./dist/workflows
COPY --from=build /app/dist/activities ./dist/activities
COPY --from=build /app/dist/workflow-bundle.js ./dist/workflow-bundle.js

# Large payloads; a volume that is mounted here takes its owner over.
RUN mkdir -p /var/lib/agent-reach/payloads && chown node:node /var/lib/agent-reach/payloads

# The image's own unprivileged user; nothing under /app is written at run time.
USER node
EXPOSE 8080

# For the gateway. A worker has no port: run it with the health check off (docker-compose.yml does).
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.AGENT_REACH_PORT || 8080}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "dist/src/cli/main.js"]
CMD ["--help"]
