# Works with BuildKit and with the classic builder of older Docker versions.
# BASE: any image with Node 20.19 or later and npm.
ARG BASE=node:20-bookworm-slim

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: the package's own script builds it, and its sources are not copied yet.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY src src
COPY workers workers
RUN npm run -s build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${BASE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# A number needs no entry in the base image. In the official images it is the user `node`.
USER 1000:1000
# Node itself, because npm would not pass signals on, and requests in flight would be cut off.
CMD ["node", "dist/workers/all.js"]
