# Runs in the image while it is built: writes what is in it as SPDX 2.3, JSON.
# Debian's packages from dpkg, the crates in the binary from the list that `make release` writes beside it.
# Usage: sbom.sh CRATES VERSION REVISION SECONDS   with CRATES: that list, SECONDS: time of the document, since 1970
crates=$1 version=$2 revision=$3 seconds=$4
place=/usr/share/narthex
mkdir -p "$place"
{
  printf 'own\tnarthex\t%s\tApache-2.0\n' "$version"
  # What is installed; a package that was removed may have a line, too.
  dpkg-query -W -f '${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n' | sed -n 's/^ii *\t/deb\t/p'
  sed 's/^/cargo\t/' "$crates"
} | LC_ALL=C sort | awk -F '\t' -v revision="$revision" -v version="$version" -v created="$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)" '
  function text(value) { gsub(/[\\"]/, "\\\\&", value); return "\"" value "\"" }
  # Of a package URL: + and : stand for something else there.
  function escaped(value) { gsub(/%/, "%25", value); gsub(/\+/, "%2B", value); gsub(/:/, "%3A", value); return value }
  function package(id, name, version, license, url) {
    listed = listed separator "\n    {\"SPDXID\": " text(id) ", \"name\": " text(name) ", \"versionInfo\": " text(version) \
      ", \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\"" \
      ", \"licenseDeclared\": " text(license) ", \"copyrightText\": \"NOASSERTION\"" \
      (url == "" ? "" : ", \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \"referenceLocator\": " text(url) "}]") "}"
    related = related separator "\n    {\"spdxElementId\": " (id == "SPDXRef-image" ? "\"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\"" \
      : "\"SPDXRef-image\", \"relationshipType\": \"CONTAINS\"") ", \"relatedSpdxElement\": " text(id) "}"
    separator = ","
  }
  BEGIN { package("SPDXRef-image", "narthex-image", version, "NOASSERTION", "") }
  $1 == "own" { package("SPDXRef-narthex", $2, $3, $4, "") }
  $1 == "deb" { package("SPDXRef-deb-" NR, $2, $3, "NOASSERTION", "pkg:deb/debian/" escaped($2) "@" escaped($3) "?arch=" $4 "&distro=debian-13") }
  $1 == "cargo" { package("SPDXRef-cargo-" NR, $2, $3, $4, "pkg:cargo/" $2 "@" escaped($3)) }
  END {
    print "{"
    print "  \"spdxVersion\": \"SPDX-2.3\", \"dataLicense\": \"CC0-1.0\", \"SPDXID\": \"SPDXRef-DOCUMENT\", \"name\": " text("narthex-image-" version) ","
    print "  \"documentNamespace\": " text("urn:narthex:image:" escaped(version) ":" revision) ","
    print "  \"creationInfo\": {\"created\": " text(created) ", \"creators\": [\"Tool: narthex-scripts-image-sbom\"]},"
    print "  \"packages\": [" listed "\n  ],"
    print "  \"relationships\": [" related "\n  ]"
    print "}"
  }' >"$place/sbom.spdx.json"
