#!/bin/sh
# A loop around inotifywait, as a sidecar or an entry point has it. PAUSE: seconds until the files are believed to be whole.
while inotifywait -qq -r -e modify,move,create,delete "$SITE/conf.d"; do
  sleep "$PAUSE"
  nginx -t -c "$SITE/nginx.conf" && nginx -s reload -c "$SITE/nginx.conf"
done
