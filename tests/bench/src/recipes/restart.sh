#!/bin/sh
# A restart instead of a reload, as `service nginx restart` does it.
while inotifywait -qq -r -e modify,move,create,delete "$SITE/conf.d"; do
  sleep "$PAUSE"
  nginx -t -c "$SITE/nginx.conf" || continue
  nginx -s stop -c "$SITE/nginx.conf"
  while [ -e "$SITE/nginx.pid" ]; do sleep 0.1; done
  nginx -c "$SITE/nginx.conf"
done
