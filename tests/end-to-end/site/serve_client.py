"""What browsers and others ask of `flamegrid serve`. Arguments: URL with the token, FLAMEGRID, the served folder, the server's pid.
Prints lines of WHAT, what is so, and what is expected, with tabs between."""
import base64
import concurrent.futures
import errno
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.parse
import zlib

url, flamegrid, folder, pid = sys.argv[1:]
where = urllib.parse.urlsplit(url)
token = urllib.parse.parse_qs(where.query)["token"][0]
name = f"flamegrid-{token[:8]}"
TRIES_S = 60


def ask(path, cookie=None, method="GET"):
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=TRIES_S)
    connection.request(method, path, headers={"Cookie": cookie} if cookie else {})
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def made(path):
    """The answer once there is one that is not the page that waits."""
    end = time.monotonic() + TRIES_S
    while (answer := ask(path, cookie))[0] == 202 and time.monotonic() < end:
        pass
    return answer


def tell(what, is_, expected):
    print(what, is_, expected, sep="\t")


def unpacked(page):
    return zlib.decompress(base64.b64decode(re.search(rb'id="profile">([^<]*)<', page)[1]))


def report(profile):
    return subprocess.run([flamegrid, "report", f"{folder}/{profile}", "-f", "html"], capture_output=True, check=True).stdout


# ---- who may see something
status, headers, body = ask("/")
tell("without the token", (status, b"token" in body, b"Profiles" in body), (403, True, False))
tell("with a wrong one", [ask(f"/?token={wrong}")[0] for wrong in (token[:-1], token + "0", "0" * len(token), "", "%00" + token)], [403] * 5)
tell("with wrong cookies", [ask("/", wrong)[0] for wrong in (f"{name}={token[:-1]}", f"x={token}", f"{name}={token}0", f"{name}=")], [403] * 4)
status, headers, body = ask(f"/?token={token}")
tell("with the token", (status, headers["Location"], token in headers["Set-Cookie"], "HttpOnly" in headers["Set-Cookie"]), (303, "/", True, True))
cookie = headers["Set-Cookie"].split(";")[0]
tell("its address leads nowhere else", [ask(f"{path}?token={token}")[1]["Location"] for path in ("//evil.example/", "/%0d%0aSet-Cookie:x", "/p/0/")], ["/", "/", "/p/0/"])
tell("beside another cookie", ask("/", f"a=b; flamegrid=0; {cookie}; c=d")[0], 200)

# ---- the list
status, headers, body = ask("/", cookie)
text = body.decode()
links = {name: link for link, name in re.findall(r'<a href="(/p/[0-9a-f]{16}/)">([^<]*)</a>', text)}
tell("the list", sorted(name.removeprefix(folder + "/") for name in links), ["&lt;b&gt;_&amp;", "broken", "kept"])
sizes = re.findall(r'<td class="n">([^<]*)<td>', text)
tell("sizes", (len(sizes), [size for size in sizes if re.fullmatch(r"4\.0 TiB, of which the disk has [0-9.]+ KiB", size)] != [],
               len([size for size in sizes if re.fullmatch(r"[0-9.]+ [KM]iB", size)])), (3, True, 2))
tell("nothing keeps it", (headers["Cache-Control"], headers["X-Content-Type-Options"], "default-src 'none'" in headers["Content-Security-Policy"]),
     ("no-store", "nosniff", True))
links = {name.removeprefix(folder + "/"): link for name, link in links.items()}

# ---- pages
status, headers, body = made(links["kept"])
tell("a page", (status, headers["Content-Type"], body == report("kept")), (200, "text/html; charset=utf-8", True))
tell("a page of a hostile name", made(links["&lt;b&gt;_&amp;"])[0], 200)
status, headers, body = made(links["broken"])
tell("a damaged profile", (status, headers["Content-Type"], b"flamegrid: report:" in body), (500, "text/plain; charset=utf-8", True))
tell("the others stay", made(links["kept"])[0], 200)

# ---- timelines
whole = subprocess.run([flamegrid, "timeline", f"{folder}/kept"], capture_output=True, check=True).stdout
status, headers, body = made(links["kept"] + "timeline")
tell("a timeline", (status, body == whole, "attachment" in headers["Content-Disposition"]), (200, True, True))
part = subprocess.run([flamegrid, "timeline", f"{folder}/kept", "--to=1ms"], capture_output=True, check=True).stdout
tell("a part of one", made(links["kept"] + "timeline?to=1ms")[2] == part != whole, True)
status, headers, body = made(links["kept"] + "timeline?step=77777")
tell("a step that is not there", (status, body.startswith(b"flamegrid: timeline: ")), (404, True))
status, headers, body = made(links["kept"] + "timeline?from=9h")
tell("a timeline of a time without events", (status, b"--from is behind the end: the timeline lasts " in body), (404, True))
tell("values that are none", [ask(links["kept"] + f"timeline?{query}", cookie)[0] for query in
                              ("from=--output", "from=1s;id", "ranks=" + "1" * 200, "step=%2e%2e%2f")], [400] * 4)

tell("names that mean nothing here", [ask(links["kept"] + query, cookie)[0] for query in
                                      ("timeline?foo=1", "timeline?to=1ms&Step=3", "timeline?to=1ms%00", "?step=1", "?around-worst", "?from=1&to=2&ranks=0")], [400] * 6)
tell("values that contradict one another", [made(links["kept"] + f"timeline?{query}")[0] for query in
                                            ("from=5s&to=1s", "step=0", "step=5&around-worst=1")], [400] * 3)

# ---- pages of ranges
part = subprocess.run([flamegrid, "timeline", f"{folder}/kept", "-f", "html", "--from=1000ns", "--to=900000ns"], capture_output=True, check=True).stdout
status, headers, body = made(links["kept"] + "?from=1000&to=900000")
tell("a page of a range", (status, headers["Content-Type"], body == part != report("kept")), (200, "text/html; charset=utf-8", True))
tell("the whole page stays", made(links["kept"])[2] == report("kept"), True)
tell("ranges that are none", [ask(links["kept"] + f"?{query}", cookie)[0::2] == (400, b"from and to are times from the profile's first event, such as "
                              b"1.5s; a number alone is nanoseconds. from is less than to.\n") for query in ("from=2&to=2", "from=3&to=2", "from=-1&to=2",
                              "from=1s&to=1ms", "from=1s&to=999999999", "from=0.5&to=2", "from=.", "to=0", "from=1x&to=2", "from=0x1&to=0x2",
                              "from=1&to=" + "9" * 17, "from=9999d", "from=1%00&to=2", "from=--output&to=2")], [True] * 14)
for query, options in (("from=1us", ["--from=1us"]), ("from=1000", ["--from=1us"]), ("to=0.9ms&from=", ["--to=900us"]), ("from=1us&to=0.9ms", ["--from=1000ns", "--to=900000ns"])):
    part = subprocess.run([flamegrid, "timeline", f"{folder}/kept", "-f", "html", *options], capture_output=True, check=True).stdout
    tell(f"a page of ?{query}", unpacked(made(links["kept"] + f"?{query}")[2]) == unpacked(part) != unpacked(report("kept")), True)
status, headers, body = made(links["kept"] + f"?from={10**14}&to={10**14 + 1}")
tell("a range without work is a page without work", (status, headers["Content-Type"], b"a part of a profile, 0.000000 s from 100000.000000 s on" in unpacked(body)),
     (200, "text/html; charset=utf-8", True))
status, headers, body = ask(links["&lt;b&gt;_&amp;"] + "?from=1&to=2", cookie)
tell("a range of a profile without a timeline", (status, headers["Content-Type"], b"has no timeline" in body, b'<a href="./">' in body),
     (404, "text/html; charset=utf-8", True, True))

status, headers, body = ask(links["&lt;b&gt;_&amp;"] + "timeline", cookie)
tell("a timeline of a profile without one", (status, b"has no timeline" in body), (404, True))

# ---- paths and methods
tell("paths that lead nowhere", [ask(path, cookie)[0] for path in
                                 ("/p/../../etc/passwd", "/p/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "/p/", "/p//", links["kept"] + "x", links["kept"][:-1],
                                  "/p/0123456789abcdef/", "/p/" + "A" * 5000 + "/")], [404] * 9)
tell("other methods", [ask(links["kept"], cookie, method)[0] for method in ("POST", "PUT", "DELETE", "OPTIONS")], [405] * 4)
tell("HEAD", ask(links["kept"], cookie, "HEAD")[0::2], (200, b""))
raw = socket.create_connection((where.hostname, where.port))
raw.sendall(b"\0\xff\r\n\r\nGET nothing\r\n\r\n")
raw.close()

# ---- many
unfinished = [b"\0" * 5000, b"GET /", b"GET / HTTP/1.1\r\nHost", b"POST / HTTP/1.1\r\nContent-Length: 10\r\n"]


def send(request):
    """The first line of the answer; b"": there is none. And whether it has what no request may get."""
    raw = socket.create_connection((where.hostname, where.port), timeout=TRIES_S)
    answer = b""
    try:
        raw.sendall(request)
        while request not in unfinished and (part := raw.recv(65536)):
            answer += part
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN):
            raise
    raw.close()
    return answer.split(b"\r\n")[0], b"root:" in answer or b"<title>flamegrid" in answer


def held():
    """Descriptors of the server beside its sockets, and its memory in MiB, once all connections have ended."""
    end = time.monotonic() + TRIES_S
    while True:
        kinds = []
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                kinds.append(os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"))
            except OSError:
                pass
        if kinds.count(True) == 1 or time.monotonic() > end:
            resident = next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS:"))
            return kinds.count(True), kinds.count(False), int(resident.split()[1]) / 1024


# Each ends behind as many events more, however long they took.
chrome = subprocess.run([flamegrid, "timeline", f"{folder}/kept", "-f", "chrome"], capture_output=True, check=True).stdout
events = json.loads(chrome)["traceEvents"]
first = min(event["ts"] for event in events if event["ph"] in "iB")
times = sorted(event["ts"] for event in events if event["ph"] == "E")
ends = [int((times[len(times) * i // 101] - first) * 1000) + 1 for i in range(1, 101)]
with concurrent.futures.ThreadPoolExecutor(100) as pool:
    parts = list(pool.map(lambda end: made(links["kept"] + f"timeline?to={end}ns")[0::2], ends))
tell("a hundred clients with a part of their own each", ({status for status, _ in parts}, len({body for _, body in parts}) > 50), ({200}, True))

idle = [socket.create_connection((where.hostname, where.port)) for _ in range(60)]
with concurrent.futures.ThreadPoolExecutor(100) as pool:
    tell("a hundred clients beside sixty that say nothing", set(pool.map(lambda _: made(links["kept"])[0], range(100))), {200})
for connection in idle:
    connection.close()
sockets, files, mib = held()
tell("then it holds its own socket alone", sockets, 1)
heads = f"Host: x\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n".encode()
hostile = [b"GET %s HTTP/1.1\r\n" % path + heads for path in (
    b"/p/../../../../etc/passwd", b"/p/%2e%2e%2f%2e%2e%2fetc%2fpasswd", b"//etc/passwd", b"/p/" + b"../" * 1000 + b"etc/passwd", b"/\\..\\etc",
    b"/p/%00/", links["kept"].encode() + b"../../etc/passwd", links["kept"].encode() + b"%2e%2e/", links["kept"].encode() + b"?from=/etc/passwd&to=1",
    links["kept"].encode() + b"timeline?ranks=$(id)", links["kept"].encode() + b"profile.db", b"/" + b"a" * 20000)]
hostile += [b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n" + heads, b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n" + heads,
            b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + heads, b"\x16\x03\x01\x02\0\x01" + b"\xff" * 500 + b"\r\n\r\n"]
with concurrent.futures.ThreadPoolExecutor(100) as pool:
    answers = list(pool.map(send, (hostile + unfinished) * 20))
lines = {line for line, _ in answers}
tell("hostile requests of a hundred clients are refused", sorted({line[9:10] for line in lines if line} - {b"4", b"5"}), [])
tell("they get no file and no list", [line for line, leaks in answers if leaks], [])
tell("the page stays", made(links["kept"])[2] == report("kept"), True)
after = held()
tell("no socket and no file stays open", after[:2], (1, files))
tell("nor does memory", after[2] < mib + 8, True)
