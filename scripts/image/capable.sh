# Runs in the image while it is built: the programs that open ports below 1024 for a user who is not root.
# A container that may gain no rights keeps those that it begins with only where each program on the way to the socket has them.
# Usage: capable.sh NARTHEX SECONDS   with NARTHEX: the binary, SECONDS: time of what is written, since 1970
narthex=$1 seconds=$2
install -m 755 "$narthex" /usr/bin/narthex
for program in /usr/bin/narthex /usr/sbin/nginx; do
  setcap cap_net_bind_service=+ep "$program"
  touch -d "@$seconds" "$program"
done
touch -d "@$seconds" /usr/bin /usr/sbin
