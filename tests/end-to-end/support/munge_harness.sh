# A munged of the test's own; sourced after harness.sh.

# munge_start FOLDER [SOCKET]: in the background, until it answers; $munged is its process. The folder gets its key, socket and log.
munge_start() {
	local folder=$1
	(umask 077; [ -e "$folder/munge.key" ] || head -c 1024 /dev/urandom >"$folder/munge.key")
	munged --foreground --force --key-file="$folder/munge.key" --socket="${2:-$folder/munge.socket}" --pid-file="$folder/munge.pid" \
		--seed-file="$folder/munge.seed" >"$folder/munged.out" 2>&1 7<&- &
	munged=$!
	timeout 60 tail -F -n +1 --pid=$munged "$folder/munged.out" 2>/dev/null | grep -m1 -q 'Created .* work threads' || cat "$folder/munged.out"
}
