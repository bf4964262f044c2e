"""Asks `flamegrid serve` for capture windows, as a browser and as others. Arguments: URL with the token; refused: the server opens none; opened: it does.
Prints lines of WHAT, what is so, and what is expected, with tabs between."""
import http.client
import re
import sys
import time
import urllib.parse

url, mode = sys.argv[1:]
where = urllib.parse.urlsplit(url)
token = urllib.parse.parse_qs(where.query)["token"][0]
cookie = f"flamegrid-{token[:8]}={token}"
own = f"http://{where.netloc}"
TRIES_S = 60


def ask(path, method="GET", cookie=cookie, origin=None, body=None):
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=TRIES_S)
    headers = {name: value for name, value in (("Cookie", cookie), ("Origin", origin)) if value}
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()


def tell(what, is_, expected):
    print(what, is_, expected, sep="\t")


text = ask("/")[2]
buttons = [path.replace("&amp;", "&") for path in re.findall(r'formaction="([^"]*)"', text)]
link = re.search(r'href="(/p/[0-9a-f]{16}/)"', text)[1]
if mode == "refused":
    tell("a list without buttons", ("<button form" in text, buttons), (False, []))
    tell("no request opens a window", [ask(f"{link}window?duration=1s&key={key}", "POST", origin=own)[0] for key in ("", token, "0" * 32)], [405] * 3)
    sys.exit()
tell("a button for each duration", [re.sub("key=[0-9a-f]{32}$", "key=", path) for path in buttons],
     [f"{link}window?duration={duration}&key=" for duration in ("1s", "10s", "60s")])
button = buttons[0]
key = button[-32:]
tell("the key is not the token", key == token, False)

# ---- refused
tell("without the token", ask(button, "POST", cookie=None, origin=own)[0], 403)
tell("with the token in the address", ask(f"{button}&token={token}", "POST", cookie=None, origin=own)[0], 403)
tell("from no page, another page, and one without an address", [ask(button, "POST", origin=origin)[0] for origin in
                                                                (None, "http://evil.example", "null")], [403] * 3)
tell("with wrong keys", [ask(f"{link}window?duration=1s{key}", "POST", origin=own)[0] for key in ("", "&key=", f"&key={token}")], [403] * 3)
tell("other durations", [ask(button.replace("1s", value), "POST", origin=own)[0] for value in ("", "2h", "1s;id", "--agent", "1s%00")], [400] * 5)
tell("other paths", [ask(path, "POST", origin=own)[0] for path in (button.replace(link, "/p/0123456789abcdef/"), link, "/", f"{link}timeline")], [404] * 4)
tell("a GET opens none, nor do the numbers of windows that were none", [ask(path)[0] for path in
     (button, f"{link}window", *(f"{link}window?number={number}" for number in ("1", "0", "-1", "x" * 500, "%00")))], [404] * 7)

# ---- opened
status, headers, _ = ask(button, "POST", origin=own, body="what nobody reads")
tell("a button opens one", (status, headers["Location"]), (303, f"{link}window?number=1"))
end = time.monotonic() + TRIES_S
while (answer := ask(headers["Location"]))[0] == 202 and time.monotonic() < end:
    pass
tell("its page says who has taken it", (answer[0], answer[1]["Content-Type"], re.findall(r"^(yes|no) +(\d+) .* (\S+)$", answer[2], re.M)),
     (200, "text/plain; charset=utf-8", [("yes", "2", "node0")]))
tell("to look again opens none", ask(headers["Location"])[2] == answer[2], True)
tell("the next number is none yet", ask(f"{link}window?number=2")[0], 404)
