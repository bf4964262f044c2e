#!/bin/sh
# Strips an ELF file, and packs what was removed into its .gnu_debugdata; a debug link is added, too. In FILE.damaged what is
# packed is damaged.
#	pack_symbols.sh OBJCOPY FILE
set -eu
"$1" --only-keep-debug "$2" "$2.symbols"
xz -kf --format=xz --check=crc32 "$2.symbols"
"$1" --strip-all --add-section=.gnu_debugdata="$2.symbols.xz" --add-gnu-debuglink="$2.symbols" "$2"
rm -f "$2.symbols" "$2.symbols.xz"
at=$(LC_ALL=C grep -abo 7zXZ "$2" | head -n 1 | cut -d : -f 1)
cp "$2" "$2.damaged"
printf damaged | dd of="$2.damaged" bs=1 seek=$((at + 30)) conv=notrunc status=none
