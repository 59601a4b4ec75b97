# Runs in the image while it is built: Debian's NGINX with the modules that settings can ask for, users, links, paths.
export DEBIAN_FRONTEND=noninteractive

# Debian starts its own NGINX after the installation.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get update -qq
apt-get upgrade -y -qq
apt-get install -y -qq --no-install-recommends \
  ca-certificates libcap2-bin nginx lua-cjson \
  libnginx-mod-http-lua libnginx-mod-http-headers-more-filter libnginx-mod-stream libnginx-mod-stream-js \
  libnginx-mod-http-brotli-filter libnginx-mod-http-brotli-static libnginx-mod-http-geoip2 libnginx-mod-stream-geoip2 \
  libnginx-mod-http-modsecurity modsecurity-crs
rm /usr/sbin/policy-rc.d

# What neither NGINX nor the controller runs: 32 MB. An image is made again, not upgraded. Perl last: scripts of packages need it.
purge() { dpkg --purge --force-depends --force-remove-essential --force-remove-protected "$@"; }
purge iproute2 libmodsecurity-dev passwd util-linux mount
purge apt libapt-pkg7.0 perl-base sqv

# The user and group that charts and manifests of ingress-nginx name by number.
echo 'narthex:x:82:' >>/etc/group
echo 'narthex:x:101:82:Narthex:/nonexistent:/usr/sbin/nologin' >>/etc/passwd

# Its programs, by their paths.
for name in nginx-ingress-controller dbg wait-shutdown; do ln -s usr/bin/narthex "/$name"; done
[ -e /usr/bin/nginx ] || ln -s ../sbin/nginx /usr/bin/nginx

# Its directories: Secrets and ConfigMaps are mounted there, and hooks write there.
mkdir -p /etc/nginx/template /modules_mount /usr/local/certificates
for dir in /etc/ingress-controller /etc/ingress-controller/auth /etc/ingress-controller/geoip /etc/ingress-controller/ssl \
  /etc/ingress-controller/telemetry /tmp/nginx; do
  mkdir -p "$dir"
  chown 101:82 "$dir"
done
# Any user may have the work directory: some platforms choose the number themselves.
mkdir -p /run/narthex
chmod 1777 /run/narthex
rm -rf /var/log/nginx
mkdir /var/log/nginx
chown 101:82 /var/log/nginx
ln -s /dev/stdout /var/log/nginx/access.log
ln -s /dev/stderr /var/log/nginx/error.log
