# Runs in the image while it is built, last: removes what only the build needs, and what differs from build to build.
# Usage: finish.sh SECONDS   with SECONDS: time of all that was written, since 1970
seconds=$1

# Documents; licences stay.
find /usr/share/doc -type f ! -name copyright -delete
find /usr/share/doc -type l -delete
find /usr/share/doc -depth -type d -empty -delete
# For those who build packages.
rm -f /var/lib/dpkg/info/*.symbols /var/lib/dpkg/info/*.shlibs
rm -rf /usr/share/man /usr/share/info /usr/share/locale /usr/share/lintian /usr/share/bash-completion /usr/share/bug
rm -rf /var/lib/apt/lists /var/cache /var/log/apt /var/log/*.log /var/lib/dpkg/*-old /var/lib/systemd /etc/machine-id
mkdir -p /var/cache
# Converters between character sets, 8 MB. Those of Unicode, ISO 8859 and Windows stay, for the XML that ModSecurity reads.
find /usr/lib -path '*/gconv/*' -name '*.so' ! -name 'UTF*' ! -name 'UNICODE*' ! -name 'ISO8859*' ! -name 'CP125*' -delete
# What the builder mounts is not the image's.
own() { find / \( -path /dev -o -path /media -o -path /mnt -o -path /proc -o -path /sys -o -path /etc/hosts -o -path /etc/resolv.conf -o -path /run/.containerenv \) -prune -o "$@"; }
# These programs of the base may change their user.
own -type f -perm /6000 -exec chmod a-s {} +
own -newermt "@$seconds" -exec touch -h -d "@$seconds" {} +
