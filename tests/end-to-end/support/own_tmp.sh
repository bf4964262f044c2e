# A /tmp of its own, for scripts of `flamegrid control`, which asks all agents whose sockets are there: other programs'
# runs are not this test's. Sourced before harness.sh. As root; others share theirs. Only there, too, is what is built or
# checked out in /tmp; what a failed test keeps is in the machine's /tmp.
if [ "$(id -u)" = 0 ] && [ -z "${OWN_TMP:-}" ] && unshare --mount true 2>/dev/null; then
	export OWN_TMP=1 TMPDIR=/tmp/outside
	exec unshare --mount bash -c '
		mount -t tmpfs -o mode=1777 none /mnt && mkdir /mnt/outside && mount --bind /tmp /mnt/outside || exit 1
		for folder in "$BUILD" "$(realpath "$(dirname "$0")/../../..")"; do
			case $folder in
			/tmp/*) mkdir -p "/mnt/${folder#/tmp/}" && mount --bind "$folder" "/mnt/${folder#/tmp/}" || exit 1 ;;
			esac
		done
		mount --move /mnt /tmp && exec bash "$0"' "$0"
fi
