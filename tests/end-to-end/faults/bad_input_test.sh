#!/usr/bin/env bash
# Bad input: one line that names what and where, a documented status, and nothing lost.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)

# refused STATUS TEXT COMMAND...
refused() {
	local status=$1 text=$2 have
	shift 2
	"$@" >"$scratch/out" 2>"$scratch/err" </dev/null
	have=$?
	same "$(basename "$1") ${*:2:3}: status" $have "$status"
	contains "$(basename "$1") ${*:2:3}: message" "$scratch/err" "$text"
}

refused 2 "no such verb" "$flamegrid" nonsense
refused 2 "flamegrid --help" "$flamegrid"
check "no verb: lists the next steps" grep -q "flamegrid doctor" <(cd "$scratch" && "$flamegrid" 2>&1)
refused 125 "--nonsense" "$flamegrid" run --nonsense true
refused 125 "no command" "$flamegrid" run
refused 2 "--nonsense" "$flamegrid" report --nonsense
refused 2 "did you mean run?" "$flamegrid" runn
refused 2 "flamegrid top --once" "$flamegrid" top
same "a verb's version" "$("$flamegrid" run --version)" "$("$flamegrid" --version)"
cd "$scratch" || exit 1 # no profile lies there
refused 2 "none is here" "$flamegrid" report
refused 2 "xml" "$flamegrid" report "$scratch" --format xml
refused 2 "colour" "$flamegrid" report "$scratch" --by colour
refused 2 "weeks" "$flamegrid" report "$scratch" --unit weeks
refused 2 "on or off" "$flamegrid" report "$scratch" --lines maybe
refused 125 "--lines maybe: must be on or off" "$flamegrid" run --lines maybe true
refused 125 "--output: its value is empty" "$flamegrid" run -o "" true
refused 2 "--output: its value is empty" "$flamegrid" report -o "" "$scratch"
refused 1 "root needs CAP_SYS_PTRACE for it" setpriv --bounding-set=-all "$flamegrid" attach --pid $$
refused 1 "for a run of one process give its --pid in place of PROFILE" "$flamegrid" control start "$scratch"
refused 2 "--nonsense" "$BUILD/bin/flamegrid-agent" --nonsense
refused 2 "must be like tcp://HOST:PORT or ipc://PATH" "$BUILD/bin/flamegrid-agent" --connect foo --socket "$scratch/s"
refused 2 "--nonsense" "$BUILD/bin/flamegrid-aggregator" --nonsense
refused 1 "$scratch/nowhere" "$flamegrid" report "$scratch/nowhere"
refused 1 "/proc/nowhere" "$BUILD/bin/flamegrid-aggregator" --listen "ipc://$scratch/a" --store /proc/nowhere/p.db
refused 1 "no-scheme" "$BUILD/bin/flamegrid-aggregator" --insecure --listen no-scheme --store "$scratch/x.db"

# Rules of classes that cannot be used: no report, but the command runs and its page has the built-in ones.
printf 'moe moe_\nsolver (x\n' >"$scratch/classes"
export FLAMEGRID_CLASSES=$scratch/classes
refused 1 "$scratch/classes: line 2: (x: " "$flamegrid" report "$scratch"
refused 1 "$scratch/classes: line 2: (x: " "$flamegrid" diff "$scratch" "$scratch"
refused 0 "$scratch/classes: line 2: (x: " "$flamegrid" run --devices "$list" -o "$scratch/classed" -- "$fake_launches" --launches 10
check "bad rules: the page is written" [ -s "$scratch/classed/flame.html" ]
FLAMEGRID_CLASSES=

# A name that cannot be made: the command runs.
for sign in "%j stands for something that this process does not have: no launcher (Slurm, mpirun) gave it a job" \
	"%r stands for something that this process does not have: no launcher (Slurm, mpirun) gave it a rank" \
	"%q stands for something that this process does not have: that variable is not set"; do
	name=${sign%% *}
	[ "$name" != %q ] || name='%q{NO_SUCH_VARIABLE}'
	env -u SLURM_JOB_ID "$flamegrid" run -o "$scratch/p-$name" -- true 2>"$scratch/err"
	same "$name: status" $? 0
	contains "$name: message" "$scratch/err" "$sign"
done

# What is wrong with the configuration is a warning.
printf 'bad key\n' >"$scratch/bad.conf"
export FLAMEGRID_CONFIG=$scratch/bad.conf
"$flamegrid" run -o "$scratch/configured" -- true 2>"$scratch/err"
contains "a configuration: message" "$scratch/err" "bad.conf: line 1: bad key: no option that can be there"
contains "nothing recorded: said first" "$scratch/err" "flamegrid: NOTHING WAS RECORDED: no process started CUDA"
"$flamegrid" run --log-level error -o "$scratch/configured" -- true 2>"$scratch/err"
same "a configuration, --log-level error: status" $? 0
same "a configuration, --log-level error: no line" "$(wc -l <"$scratch/err")" 0
refused 125 "not started (--strict)" "$flamegrid" run --log-level error --strict -- true
"$flamegrid" run --help >"$scratch/out" 2>"$scratch/err"
same "a configuration, --help: no line" "$(wc -l <"$scratch/err")" 0
unset FLAMEGRID_CONFIG

printf '0 0000:17:00.0 GPU-00000000-0000-0000-0000-000000000000 one\nnonsense\n' >"$scratch/bad-devices"
refused 1 "$scratch/bad-devices:2" "$BUILD/bin/flamegrid-agent" --connect "ipc://$scratch/a" --socket "$scratch/s" \
	--devices "$scratch/bad-devices"

echo "this is no database" >"$scratch/text.db"
refused 1 "$scratch/text.db" "$flamegrid" report "$scratch/text.db"
refused 1 "$scratch/text.db" "$BUILD/bin/flamegrid-aggregator" --listen "ipc://$scratch/a" --store "$scratch/text.db"
same "a foreign file is not touched" "$(cat "$scratch/text.db")" "this is no database"

FAKE_CUDA_DEVICES=2 "$flamegrid" run -q -o "$scratch/profile" --devices "$list" -- "$fake_launches" --launches 20000 >/dev/null
same "a good profile" $? 0
head -c 6000 "$scratch/profile/profile.db" >"$scratch/cut.db"
refused 1 "$scratch/cut.db" "$flamegrid" report "$scratch/cut.db"
refused 1 "$scratch/cut.db" "$BUILD/bin/flamegrid-aggregator" --listen "ipc://$scratch/a" --store "$scratch/cut.db"
"$flamegrid" report "$scratch/profile" >"$scratch/folded"
check "the good profile is still good" [ -s "$scratch/folded" ]
"$flamegrid" report "$scratch/profile" >/dev/full 2>"$scratch/err"
same "a full disk: status" $? 1
contains "a full disk: message" "$scratch/err" "standard output: No space left on device"
for format in html table json csv; do
	refused 1 "/dev/full: No space left on device" "$flamegrid" report "$scratch/profile" --format $format -o /dev/full
done
refused 1 "/dev/full: No space left on device" "$flamegrid" report "$scratch/profile" -o /dev/full
refused 1 "devices: $scratch/nowhere: No such file or directory" "$BUILD/bin/flamegrid-agent" --connect "ipc://$scratch/a" \
	--socket "$scratch/s" --devices "$scratch/nowhere"
refused 1 "devices: $scratch: Is a directory" "$BUILD/bin/flamegrid-agent" --connect "ipc://$scratch/a" --socket "$scratch/s" \
	--devices "$scratch"
