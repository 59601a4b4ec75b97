#!/bin/sh
# A preStop hook that sleeps and tells NGINX to quit.
sleep "$PAUSE"
nginx -s quit -c "$SITE/nginx.conf"
