#!/bin/sh
# The guest must load into any job: no symbol newer than GLIBC_2.17, nothing but libc, its entry points alone exported, small.
# usage: guest_symbols_test.sh GUEST.so
set -eu

guest=$1
failures=0
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT

fail()
{
	echo "guest_symbols_test: $1" >&2
	failures=$((failures + 1))
}

for version in $(objdump -T "$guest" | grep -o 'GLIBC_[A-Za-z0-9_.]*' | sort -u); do
	case $version in
	GLIBC_2.[0-9] | GLIBC_2.[0-9].[0-9] | GLIBC_2.1[0-7]) ;;
	*) fail "needs $version: $(objdump -T "$guest" | grep -F "$version" | awk '{ print $NF }' | tr '\n' ' ')" ;;
	esac
done

for library in $(readelf -d "$guest" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
	case $library in
	libc.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-x86-64.so.2) ;;
	*) fail "needs $library" ;;
	esac
done

wanted="InitializeInjection InitializeInjectionNvtx2 InitializeInjectionNvtxExtension flamegrid_api_1 $(seq -f 'ncclProfiler_v%g' -s ' ' 7) "
exported=$(objdump -T "$guest" | awk '$0 !~ /\*UND\*/ && / g / { print $NF }')
[ "$(echo $exported | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ')" = "$wanted" ] || fail "exports: $exported"

strip -o "$copy" "$guest"
size=$(wc -c <"$copy")
[ "$size" -le 290816 ] || fail "$size bytes stripped; 290816 are allowed"

tls=$(readelf -lW "$guest" | awk '$1 == "TLS" { print $6 }')
[ "$((tls))" -le 16 ] || fail "thread-local data of $tls bytes; two pointers are allowed"

readelf -dW "$guest" | grep -q 'NODELETE' || fail "may be unloaded while callbacks point into it"
exit "$failures"
