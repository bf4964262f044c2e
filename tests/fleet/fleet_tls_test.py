#!/usr/bin/env python3
"""`flamegrid export` over TLS: to whom it speaks, and what it says of whom it does not trust.

    fleet_tls_test.py OPENSSL"""
import os
import ssl
import subprocess
import sys

from clickhouse_front import Front, ModelEngine
from fleet_fixture import Fixture, told, truth
from fleet_test import place
from pyroscope_front import PyroscopeFront

OPENSSL = sys.argv[1] if len(sys.argv) > 1 else "openssl"


class Authority:
    """Certificates that a self-made authority signs. A server has one file of key and certificate."""

    def __init__(self, test, name):
        self.test, self.name, self.ca = test, name, test.path(name + ".crt")
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                 test.path(name + ".key"), "-out", self.ca, "-subj", f"/CN={name}", "-days", "2")

    def run(self, *arguments):
        subprocess.run([OPENSSL, *arguments], check=True, capture_output=True)

    def server(self, name, host, *dates):
        pem, request, extensions = (self.test.path(name + end) for end in (".pem", ".csr", ".ext"))
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", pem, "-out", request,
                 "-subj", "/CN=server")
        with open(extensions, "w") as out:
            out.write(f"subjectAltName={host}\n")
        self.run("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.test.path(self.name + ".key"), "-CAcreateserial",
                 "-extfile", extensions, "-out", request + ".crt", *(dates or ("-days", "1")))
        with open(pem, "a") as out, open(request + ".crt") as certificate:
            out.write(certificate.read())
        return pem


def wrapped(pem):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return lambda socket: context.wrap_socket(socket, server_side=True)


def speaks(test, kind, front_of, one, authority, other):
    good = front_of(wrapped(authority.server("good " + kind, "IP:127.0.0.1")))
    here = place(test, one, kind)

    def refused(what, front, lines, words):
        done = test.export(here, test.target(front.url, "target", lines=lines, kind=kind))
        test.check(f"{kind}: {what}", done.returncode == 1 and words in done.stderr and front.url in done.stderr and
                   "wait" not in done.stderr.split("not exported")[0], done.stderr)

    refused("an unknown authority", good, [], "certificate")
    refused("another authority", good, [f"ca {other.ca}"], "certificate")
    refused("no file of certificates", good, [f"ca {test.path('nowhere')}"], test.path("nowhere"))
    name = front_of(wrapped(authority.server("name " + kind, "DNS:elsewhere.example")))
    refused("a certificate of another host", name, [f"ca {authority.ca}"], "127.0.0.1")
    old = front_of(wrapped(authority.server("old " + kind, "IP:127.0.0.1", "-days", "-1")))
    refused("a certificate that has expired", old, [f"ca {authority.ca}"], "expired")
    plain = front_of(None)
    refused("a server that speaks no TLS", type("Url", (), {"url": plain.url.replace("http:", "https:")}), [f"ca {authority.ca}"], "SSL")
    test.check(f"{kind}: nobody of them got anything", not any(taken(front) for front in (good, name, old, plain)))
    done = test.export(here, test.target(good.url, "target", lines=[f"ca {authority.ca}"], kind=kind))
    test.check(f"{kind}: the right authority", done.returncode == 0 and "twice" not in done.stderr, done.stderr)
    second = place(test, one, kind + " again")
    good = front_of(wrapped(test.path(f"good {kind}.pem")))
    done = test.export(second, test.target(good.url, "target", kind=kind), SSL_CERT_FILE=authority.ca)
    test.check(f"{kind}: that of the environment", done.returncode == 0, done.stderr)
    test.check(f"{kind}: the contract is kept", taken(good) and not good.wrong, good.wrong)
    return good


def taken(front):
    return front.pushes if isinstance(front, PyroscopeFront) else front.engine.rows("work")


def main():
    test = Fixture()
    one = test.record("one", "--steps", "20")
    authority, other = Authority(test, "authority"), Authority(test, "other")
    front = speaks(test, "clickhouse", lambda wrap: Front(ModelEngine(), wrap), one, authority, other)
    test.check("the sums", told(front.engine.rows("work"), front.engine.rows("stacks")) == truth(one))
    speaks(test, "pyroscope", PyroscopeFront, one, authority, other)
    test.finish()


if __name__ == "__main__":
    main()
