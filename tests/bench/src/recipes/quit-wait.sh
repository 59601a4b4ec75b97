#!/bin/sh
# A preStop hook that sleeps, tells NGINX to quit, and waits for its end.
pid=$(cat "$SITE/nginx.pid")
sleep "$PAUSE"
nginx -s quit -c "$SITE/nginx.conf"
while kill -0 "$pid" 2>/dev/null; do sleep 1; done
