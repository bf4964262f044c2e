#!/usr/bin/env bash
# `flamegrid serve`: the pages are those of `report`, to the byte, for a browser that has the token; nothing else is there to be had, and no client harms
# another. Arguments: node and chromium; without them no browser tries it.
client=$(realpath "$(dirname "$0")/serve_client.py") browser=$(realpath "$(dirname "$0")/serve_browser.mjs")
. "$(dirname "$0")/../support/harness.sh"
node=${1:-} chromium=${2:-} server=''
at_end() { kill -9 $server $live 2>/dev/null; }
live=''
list=$(devices 1)
mkdir -p "$scratch/profiles/broken" "$scratch/tmp" && mkfifo "$scratch/url" "$scratch/go"
"$flamegrid" run -q --timeline all -o "$scratch/profiles/kept" --devices "$list" -- "$fake_launches" --launches 3000 >/dev/null 2>"$scratch/err"
same "a profile" $? 0
"$flamegrid" run -q -o "$scratch/profiles/"$'<b>\e&' --devices "$list" -- "$fake_launches" --launches 10 >/dev/null 2>"$scratch/err"
head -c 5000 "$scratch/profiles/kept/profile.db" >"$scratch/profiles/broken/profile.db"
truncate -s 4T "$scratch/profiles/broken/profile.db"

start() {
	TMPDIR=$scratch/tmp "$flamegrid" serve --listen 127.0.0.1:0 "$@" >"$scratch/url" 2>"$scratch/serve.err" &
	server=$!
	read -r url <"$scratch/url" || { cat "$scratch/serve.err"; exit 1; }
}
stop() {
	kill -TERM $server
	wait $server
	same "$1: status" $? 0
	same "$1: its pages go with it" "$(ls "$scratch/tmp")" ""
	check "$1: and who made them" [ -z "$(pgrep -f -- "report --format html -- $scratch")" ]
	server=''
}
# WHAT, what is so, and what is expected, on lines.
compared() {
	"$@" >"$scratch/compared" 2>"$scratch/compared.err"
	same "${2##*/} ended" "$? $(cat "$scratch/compared.err")" "0 "
	while IFS=$'\t' read -r what is expected; do same "$what" "$is" "$expected"; done <"$scratch/compared"
}

start "$scratch/profiles"
compared python3 "$client" "$url" "$flamegrid" "$scratch/profiles" $server
stop "after all that"
if [ -n "$node" ]; then
	start "$scratch/profiles"
	compared "$node" "$browser" "$chromium" "$url" /kept
	stop "after a browser"
else
	ok "no browser here: it is not tried in one"
fi

# ---- a job that runs
"$flamegrid" run -q -o "$scratch/profiles/live" --devices "$list" -- bash -c "\"$fake_launches\" --launches 50 >/dev/null; read -r _ <\"$scratch/go\"; \"$fake_launches\" --launches 70 >/dev/null" \
	2>"$scratch/live.err" &
live=$!
mkfifo "$scratch/nothing"
until [ -e "$scratch/profiles/live/profile.db" ]; do read -r -t 0.05 _ <>"$scratch/nothing"; done
start "$scratch/profiles/live" "$scratch/profiles/kept"
python3 - "$url" "$scratch/go" $live "$flamegrid" "$scratch/profiles/live" >"$scratch/compared" 2>"$scratch/compared.err" <<'PYTHON'
import http.client, re, subprocess, sys, time, urllib.parse
url, gate, pid, flamegrid, profile = sys.argv[1:]
where = urllib.parse.urlsplit(url)
token = urllib.parse.parse_qs(where.query)["token"][0]
cookie = f"flamegrid-{token[:8]}={token}"
end = time.monotonic() + 60
def ask(path):
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    return answer.status, answer.read()
def row():
    return next(line for line in ask("/")[1].decode().splitlines() if "/live</a>" in line)
def until(is_right):
    """The first page that is right, or the last one."""
    while True:
        status, page = ask(link)
        if time.monotonic() > end or (status == 200 and is_right(page)):
            return page
def is_there():
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
link = re.search(r'href="([^"]*)"', row())[1]
print("it is told", "being written" in row(), True, sep="\t")
early = until(lambda page: True)
print("its page so far", b"</html>" in early, True, sep="\t")
with open(gate, "w") as to:
    to.write("\n")
while is_there() and time.monotonic() < end:
    pass
whole = subprocess.run([flamegrid, "report", profile, "-f", "html"], capture_output=True, check=True).stdout
print("its page at the end", until(lambda page: page == whole) == whole != early, True, sep="\t")
while "being written" in row() and time.monotonic() < end:
    pass
print("it is told no more", "being written" in row(), False, sep="\t")
PYTHON
same "the job's pages" "$? $(cat "$scratch/compared.err")" "0 "
while IFS=$'\t' read -r what is expected; do same "$what" "$is" "$expected"; done <"$scratch/compared"
wait $live
same "the job's status" $? 0
live=''

# ---- what cannot be
for most in 4 5 6 7 8 9 10; do
	(ulimit -n $most; "$flamegrid" timeline "$scratch/profiles/kept" -f html >/dev/null)
	echo "status $?"
done >"$scratch/statuses" 2>"$scratch/err"
check "with few descriptors it fails, and with more it does not" [ "$(uniq "$scratch/statuses" | tr '\n' ' ')" = "status 1 status 0 " ]
contains "with few descriptors: the cause" "$scratch/err" "/kept/profile.db: Too many open files"
check "with few descriptors: no error is told as none" [ "$(grep -c 'not an error' "$scratch/err")" -eq 0 ]
port=${url%%/\?*} port=${port##*:}
"$flamegrid" serve --listen "$port" "$scratch/profiles" >"$scratch/out" 2>"$scratch/err"
same "a taken port: status" $? 1
contains "a taken port" "$scratch/err" "cannot listen on 127.0.0.1:$port: Address already in use"
stop "after a job"
"$flamegrid" serve "$scratch/nowhere" >"$scratch/out" 2>"$scratch/err"
same "no such path: status" $? 1
contains "no such path" "$scratch/err" "nowhere: No such file or directory"
"$flamegrid" serve --listen here "$scratch" >"$scratch/out" 2>"$scratch/err"
same "no address: status" $? 2
