#!/bin/sh
# A look at the checksum every few seconds.
old=$(cat "$SITE"/conf.d/*.conf | sha256sum)
while sleep 5; do
  new=$(cat "$SITE"/conf.d/*.conf | sha256sum)
  if [ "$new" != "$old" ]; then
    nginx -t -c "$SITE/nginx.conf" && nginx -s reload -c "$SITE/nginx.conf"
    old=$new
  fi
done
