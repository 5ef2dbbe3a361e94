#!/usr/bin/env bash
# Writes the certificates that tests of TLS use: for nobody but them, as their key lies beside them. Needs OpenSSL 3.
set -euo pipefail
cd "$(dirname "$0")/fixtures/tls"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

authority() { # file, name
  openssl ecparam -name prime256v1 -genkey -noout -out "$work/$1.key"
  openssl req -x509 -new -key "$work/$1.key" -subj "/CN=$2" -days 36500 -out "$1.pem"
}
sign() { # file, authority, extension, days
  openssl req -new -key server.key -subj "/CN=$1" -out "$work/$1.csr"
  echo "$3" > "$work/ext"
  openssl x509 -req -in "$work/$1.csr" -CA "$2.pem" -CAkey "$work/$2.key" -CAcreateserial \
    -CAserial "$work/serial" -extfile "$work/ext" -days "$4" -out "$1.pem"
}

here="subjectAltName=IP:127.0.0.1,DNS:localhost"
authority ca "Weft test authority"
authority other_ca "Another authority"
openssl ecparam -name prime256v1 -genkey -noout -out server.key
sign server ca "$here" 36500
sign expired ca "$here" -1
sign elsewhere ca "subjectAltName=DNS:elsewhere.example" 36500
sign client ca "extendedKeyUsage=clientAuth" 36500
sign other_client other_ca "extendedKeyUsage=clientAuth" 36500
