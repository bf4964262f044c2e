#!/usr/bin/env bash
# `flamegrid serve`: a timeline that comes later is seen, downloads have names of their own, and a full or missing TMPDIR is named.
if [ -z "${OWN_MOUNTS:-}" ]; then exec env OWN_MOUNTS=1 unshare --mount bash "$0"; fi
. "$(dirname "$0")/../support/harness.sh"
server=''
at_end() { kill -9 $server 2>/dev/null; umount "$scratch/full" 2>/dev/null; }
mkdir -p "$scratch/profiles" "$scratch/tmp" "$scratch/full"
mkfifo "$scratch/url"
mount -t tmpfs -o size=64k,mode=700 none "$scratch/full" || exit 1
profile="$scratch/profiles/job \"7"
FAKE_CUDA_DEVICES=1 RANK=3 "$flamegrid" run -q --timeline all -o "$profile" --devices "$(devices 1)" -- "$fake_launches" --launches 3000 >/dev/null 2>"$scratch/err"
same "a profile" $? 0
mv "$profile/profile.db.timeline" "$scratch/timeline"

cat >"$scratch/client.py" <<'PYTHON'
"""client.py URL FLAMEGRID PROFILE PATH…: prints the status, the name of the download, and each answer that is an error, once it
is made. PATH has ID in place of the profile's id. "new" in place of a path: whether its page is the report's, soon."""
import http.client, re, subprocess, sys, time, urllib.parse
url, flamegrid, profile = sys.argv[1:4]
where = urllib.parse.urlsplit(url)
token = urllib.parse.parse_qs(where.query)["token"][0]
end = time.monotonic() + 60
def ask(path):
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    connection.request("GET", path, headers={"Cookie": f"flamegrid-{token[:8]}={token}"})
    answer = connection.getresponse()
    return answer.status, answer.getheader("Content-Disposition", "-"), answer.read()
def made(path):
    while (answer := ask(path))[0] == 202 and time.monotonic() < end:
        pass
    return answer
def is_new():
    whole = subprocess.run([flamegrid, "report", profile, "-f", "html"], capture_output=True, check=True).stdout
    return made(f"/p/{name}/")[2] == whole
name = re.search(rb'href="/p/([0-9a-f]*)/"', ask("/")[2])[1].decode()
for path in sys.argv[4:]:
    if path == "new":
        while not (new := is_new()) and time.monotonic() < end:
            pass
        print(new)
    else:
        status, download, body = made(path.replace("ID", name))
        print(status, download, " | ".join(body.decode("utf-8", "replace").split("\n")[:-1]) if status != 200 else len(body) > 0)
PYTHON
start() { # TMPDIR
	TMPDIR=$1 "$flamegrid" serve --listen 127.0.0.1:0 "$scratch/profiles" >"$scratch/url" 2>"$scratch/serve.err" &
	server=$!
	read -r url <"$scratch/url" || { cat "$scratch/serve.err"; exit 1; }
}
stop() { kill -TERM $server; wait $server; server=''; }
ask() { python3 "$scratch/client.py" "$url" "$flamegrid" "$profile" "$@" 2>"$scratch/client.err" || cat "$scratch/client.err"; }

start "$scratch/tmp"
same "no timeline so far" "$(ask new)" True
"$flamegrid" report "$profile" -f html >"$scratch/before" 2>/dev/null
mv "$scratch/timeline" "$profile/profile.db.timeline"
"$flamegrid" report "$profile" -f html >"$scratch/page" 2>/dev/null
same "a timeline that comes later makes another page" "$(cmp -s "$scratch/page" "$scratch/before")$? $(ask new)" "1 True"
same "a download is named by the profile" "$(ask '/p/ID/timeline?ranks=3')" '200 attachment; filename="job--7_ranks=3.perfetto" True'
same "and by its time" "$(ask '/p/ID/timeline?from=0s&to=2s')" '200 attachment; filename="job--7_from=0s_to=2s.perfetto" True'
same "and by its choice" "$(ask '/p/ID/timeline?around-worst')" '200 attachment; filename="job--7_around-worst.perfetto" True'
long=$(printf '1%.0s' {1..120})
same "a long question" "$(ask "/p/ID/timeline?from=$long&to=$long&step=$long&ranks=$long")" "400 - from, to, step and ranks are too long."
stop
start "$scratch/absent"
same "no TMPDIR" "$(ask /p/ID/)" "500 - no page can be made in $scratch/absent (TMPDIR): No such file or directory"
stop
head -c 60000 /dev/zero >"$scratch/full/other"
start "$scratch/full"
ask /p/ID/ >"$scratch/out"
contains "a full TMPDIR: status" "$scratch/out" "500 - "
contains "a full TMPDIR: is named" "$scratch/out" "no space is left for pages in $scratch/full (TMPDIR)"
same "a full TMPDIR: the page gives its room back" "$(stat -f -c %a "$scratch/full" | awk '{ print ($1 > 0) }')" 1
stop
