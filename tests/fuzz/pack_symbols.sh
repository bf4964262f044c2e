#!/bin/sh
# Strips an ELF file, and packs what was removed into its .gnu_debugdata; a debug link is added, too.
#	pack_symbols.sh OBJCOPY FILE
set -eu
"$1" --only-keep-debug "$2" "$2.symbols"
xz -kf --format=xz --check=crc32 "$2.symbols"
"$1" --strip-all --add-section=.gnu_debugdata="$2.symbols.xz" --add-gnu-debuglink="$2.symbols" "$2"
rm -f "$2.symbols" "$2.symbols.xz"
