# Built by the plain builder of older Docker daemons as well as by BuildKit.
# BASE: any image with Node 20.19 or later and npm.
ARG BASE=node:20-bookworm-slim

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: the package's own builds it, and there is nothing to build yet.
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
# By number, so that it needs no entry in the base image; it is the user `node` of the official ones.
USER 1000:1000
# Node itself, not npm, which would keep a signal to itself and cut off requests under way.
CMD ["node", "dist/workers/all.js"]
