#!/bin/sh
# A sidecar that sends HUP for every event, and tests nothing.
inotifywait -q -m -r -e modify,move,create,delete "$SITE/conf.d" | while read -r _; do
  kill -HUP "$(cat "$SITE/nginx.pid")"
done
