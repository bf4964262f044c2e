#!/usr/bin/env bash
# What people see on a terminal, and what programs see in a pipe.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)

# on_terminal COLUMNS LINES COMMAND: runs it by a shell on a terminal of this size, and leaves what it shows in screen.
on_terminal() {
	local columns=$1 lines=$2
	shift 2
	script -qec "stty cols $columns rows $lines; $*" /dev/null </dev/null | tr -d '\r' >"$scratch/screen"
}
widest() { sed 's/\x1b\[[0-9;]*m//g' "$scratch/screen" | LC_ALL=C.UTF-8 wc -L; }

export TERM=xterm
unset COLUMNS LINES NO_COLOR PAGER LESS DISPLAY WAYLAND_DISPLAY
cd "$scratch" || exit 1

# ---- run: a line at the start, one at the end, and on a terminal the kernels
"$flamegrid" record --devices "$list" -- "$fake_launches" >out 2>err
same "record is run: status" $? 0
contains "one line at its start" err "flamegrid: run: profiling into flamegrid-profile"
contains "one at its end, with the page" err "nothing lost; flamegrid-profile/flame.html"
same "and what profiling cost, and no more in a pipe" "$(wc -l <err)" 3
mkdir side
on_terminal 80 24 "$flamegrid run --devices $list -o side/shown -- $fake_launches >/dev/null"
check "on a terminal also the kernels" grep -q 'time.*share.*count.*name' screen
on_terminal 80 24 "$flamegrid run --quiet --devices $list -o side/quiet -- $fake_launches >/dev/null"
same "with --quiet nothing" "$(cat screen)" ""

# ---- report without arguments
"$flamegrid" report >out 2>err
contains "it says which profile it shows" err "flamegrid: report: flamegrid-profile, of "
check "in a pipe it is folded text" grep -qE ';\[GPU0_Kernel\][^ ]* [0-9]+$' out
"$flamegrid" report -f table >table 2>/dev/null
check "the table begins with kernels, lines and GPUs" \
	[ "$(grep -nE 'kind +name$|function of the program$|device$' table | cut -d: -f1 | sort -nc && grep -cE 'kind +name$|function of the program$|device$' table)" -eq 3 ]
same "in a pipe it has no colours" "$(grep -c $'\x1b' table)" 0
on_terminal 80 1000 "$flamegrid report"
check "on a terminal it is a table" grep -q 'function of the program' screen
check "that has colours" grep -q $'\x1b\[1m' screen
for columns in 80 60 132; do
	on_terminal $columns 1000 "$flamegrid report"
	check "$columns columns are enough: $(widest)" [ "$(widest)" -le $columns ]
	on_terminal $columns 1000 "$flamegrid report --ranks"
	check "$columns columns are enough for ranks: $(widest)" [ "$(widest)" -le $columns ]
	on_terminal $columns 1000 "$flamegrid diff flamegrid-profile side/quiet"
	check "$columns columns are enough for a difference: $(widest)" [ "$(widest)" -le $columns ]
	on_terminal $columns 1000 "$flamegrid check --baseline flamegrid-profile side/quiet"
	check "$columns columns are enough for a check: $(widest)" [ "$(widest)" -le $columns ]
	check "$columns columns: the check keeps its verdicts" grep -q 'change.*verdict.*kernel' screen
done
on_terminal 80 1000 "COLUMNS=100 $flamegrid report"
check "COLUMNS has precedence" [ "$(widest)" -gt 80 -a "$(widest)" -le 100 ]
on_terminal 80 1000 "NO_COLOR=1 $flamegrid report"
same "NO_COLOR: no colours" "$(grep -c $'\x1b' screen)" 0
on_terminal 80 1000 "TERM=dumb $flamegrid report"
same "TERM=dumb: no colours" "$(grep -c $'\x1b' screen)" 0

# ---- what may come next
"$flamegrid" run --quiet --timeline all --devices "$list" -o side/steps -- "$fake_launches" >/dev/null 2>&1
on_terminal 80 1000 "$flamegrid report side/steps"
check "a profile with a timeline: what shows its steps" grep -q 'flamegrid timeline side/steps --steps' screen
on_terminal 80 1000 "$flamegrid report"
same "one without: nothing" "$(grep -c 'flamegrid timeline' screen)" 0
"$flamegrid" report side/steps -f table >/dev/null 2>err
same "in a pipe: nothing" "$(grep -c 'flamegrid timeline' err)" 0

# ---- a newest profile that shows nothing
mkdir flamegrid-profile.9 && : >flamegrid-profile.9/profile.db
"$flamegrid" report >out 2>err
contains "an empty newest profile is told" err "flamegrid-profile.9 is newer, but left out: "
contains "and the next one is shown" err "flamegrid: report: flamegrid-profile, of "
rm -r flamegrid-profile.9

# ---- pager
on_terminal 80 10 "PAGER='sed s/^/paged:/' $flamegrid report"
check "a table longer than the screen is paged" grep -q '^paged:.*function of the program' screen
on_terminal 80 1000 "PAGER='sed s/^/paged:/' $flamegrid report"
same "a short one is not" "$(grep -c '^paged:' screen)" 0
on_terminal 80 10 "PAGER=/nonexistent/pager $flamegrid report"
check "a pager that is missing hides nothing" grep -q 'function of the program' screen
on_terminal 80 10 "PAGER=true $flamegrid report; echo status \$?"
contains "a pager that leaves early is no error" screen "status 0"
for pager in ' ' '(' false; do
	on_terminal 80 10 "PAGER='$pager' $flamegrid report"
	check "a pager that fails hides nothing: '$pager'" grep -q 'function of the program' screen
done
for type in TERM=dumb "env -u TERM"; do
	on_terminal 80 10 "$type PAGER='sed s/^/paged:/' $flamegrid report"
	same "$type: no pager" "$(grep -c '^paged:' screen)" 0
done

# ---- the page
"$flamegrid" report --open >out 2>err
same "without a display: the command that copies the page" "$(cat out)" "scp $(uname -n):$scratch/flamegrid-profile/flame.html ."
mkdir bin
printf '#!/bin/sh\necho "$1" >%s/opened\n' "$scratch" >bin/xdg-open
chmod +x bin/xdg-open
DISPLAY=:7 PATH=$scratch/bin:$PATH "$flamegrid" report --open 2>/dev/null
same "with a display: a browser" "$(cat opened)" "$scratch/flamegrid-profile/flame.html"
SSH_CONNECTION=1 DISPLAY=:7 PATH=$scratch/bin:$PATH "$flamegrid" report --open >out 2>/dev/null
contains "over SSH: the command" out "scp "
for option in --by=rank --weight=count --lines=off --ranks --strict; do
	for pages in --open --files; do
		[ $pages$option = --files--lines=off ] && continue
		"$flamegrid" report $pages $option flamegrid-profile 2>err
		same "$pages refuses ${option%=*}: status" $? 2
		contains "$pages refuses ${option%=*}" err ": ${option%=*} changes nothing"
	done
done
"$flamegrid" report flamegrid-profile/flame.html >out 2>err
check "the page names its profile" grep -qE ';\[GPU0_Kernel\][^ ]* [0-9]+$' out
"$flamegrid" report --memory peak flamegrid-profile >out 2>err
contains "no memory: what records it" err "flamegrid run --record memory"
rm flamegrid-profile/flame.html
"$flamegrid" report --open flamegrid-profile 2>err
same "no page: status" $? 1
contains "no page: what writes it" err "--files"

# ---- flamegrid alone
"$flamegrid" 2>err
same "alone: status" $? 2
same "alone: three lines" "$(wc -l <err)" 3
contains "alone: the profile that is here" err "flamegrid report            shows "

# ---- a full disk
for format in folded html table json csv; do
	"$flamegrid" report -f $format -o /dev/full 2>err
	contains "$format: a full disk is called so" err "No space left on device"
	"$flamegrid" report -f $format 2>err >/dev/full
	contains "$format to standard output: so it is" err "No space left on device"
done
