# Works with BuildKit and with the classic builder of older Docker versions.
# BASE: any image with Node 20.19 or later and npm. Pin it by its digest in production, so that a build always gets the same image:
#   docker buildx imagetools inspect node:24-bookworm-slim --format '{{.Manifest.Digest}}'
#   docker build --build-arg BASE=node:24-bookworm-slim@sha256:… .     (with Compose: NODE_IMAGE=… in .env)
ARG BASE=node:24-bookworm-slim

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: the package's own script builds it, and its sources are not copied yet.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY docs docs
COPY src src
COPY workers workers
RUN npm run -s build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${BASE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# For STATE_FILE: a volume that is mounted here gets this owner.
RUN mkdir -p /var/lib/volley && chown 1000:1000 /var/lib/volley
# A number needs no entry in the base image. In the official images it is the user `node`.
USER 1000:1000
# Node itself, because npm would not pass signals on, and requests in flight would be cut off.
CMD ["node", "dist/workers/all.js"]
