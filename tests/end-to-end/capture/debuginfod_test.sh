#!/usr/bin/env bash
# Names of a stripped program from a debuginfod server, over HTTP; and servers that do not have them, or never answer: the run is what it would have been.
. "$(dirname "$0")/../support/harness.sh"
servers=
at_end() { kill $servers && wait $servers; } 2>/dev/null
list=$(devices 1)
program=$scratch/stripped
objcopy --only-keep-debug "$fake_launches" "$scratch/debug"
strip -o "$program" "$fake_launches"
id=$(readelf -n "$program" | sed -n 's/.*Build ID: //p')
check "the program has a build id" [ "${#id}" = 40 ]
mkdir -p "$scratch/served/buildid/$id" "$scratch/nothing"
mv "$scratch/debug" "$scratch/served/buildid/$id/debuginfo"

# serve WHAT FOLDER: an HTTP server on a port of its own; $url. What it is asked goes to asked.WHAT. With "-" for a folder it takes connections and never answers.
cat >"$scratch/server.py" <<'TEXT'
import functools, http.server, socket, sys
if sys.argv[1] == '-':
    listener = socket.create_server(('127.0.0.1', 0))
    print(listener.getsockname()[1], flush=True)
    held = []
    while True:
        held.append(listener.accept())
        print('asked', file=sys.stderr, flush=True)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1]))
print(server.server_address[1], flush=True)
server.serve_forever()
TEXT
mkfifo "$scratch/port"
serve() {
	local port

	python3 "$scratch/server.py" "$2" >"$scratch/port" 2>"$scratch/asked.$1" &
	servers="$servers $!"
	read -r port <"$scratch/port"
	url=http://127.0.0.1:$port
}
# profile NAME [VARIABLE...]
profile() {
	local name=$1
	shift
	env DEBUGINFOD_CACHE_PATH="$scratch/cache.$name" FAKE_CUDA_DEVICES=1 FAKE_CUDA_TRUTH="$scratch/truth.$name" "$@" \
		"$flamegrid" run --symbol-cache none -o "$scratch/$name" --devices "$list" -- "$program" --launches 400 >"$scratch/out" 2>"$scratch/err.$name"
	same "$name: status" $? 0
	same "$name: ns" "$(total_ns "$scratch/$name")" "$(truth_sum valid_ns "$scratch/truth.$name")"
	named=$("$flamegrid" report "$scratch/$name" --weight count 2>/dev/null | grep ';launch_from_k[0-9]*;' | sum_folded)
}

profile unasked
same "unasked: launches under their functions" "$named" 0
serve served "$scratch/served"
profile served DEBUGINFOD_URLS="$url"
same "served: launches under their functions" "$named" 400
contains "served: by its build id" "$scratch/asked.served" "GET /buildid/$id/debuginfo HTTP"
profile again DEBUGINFOD_URLS="$url" DEBUGINFOD_CACHE_PATH="$scratch/cache.served"
same "from the client's cache: launches under their functions" "$named" 400
same "from the client's cache: the server was asked once" "$(grep -c "GET /buildid/$id/debuginfo" "$scratch/asked.served")" 1
serve missing "$scratch/nothing"
profile missing DEBUGINFOD_URLS="$url"
same "missing: launches under their functions" "$named" 0
contains "missing: it was asked" "$scratch/asked.missing" '" 404 '
serve silent -
profile silent DEBUGINFOD_URLS="$url"
same "silent: launches under their functions" "$named" 0
contains "silent: it was asked" "$scratch/asked.silent" asked
profile nobody DEBUGINFOD_URLS=http://127.0.0.1:1
same "nobody there: launches under their functions" "$named" 0
