# Hosts on a network of their own, for scripts that are root's: network namespaces on a bridge, gone at the end with $daemons. Sourced, with
# subnet (A.B.C), tag (a few letters: names of interfaces have 15) and, if not three are wanted, hosts set before; the first has address 1.
# shellcheck shell=bash disable=SC2154
tag=$tag$$
hosts=${hosts:-hub one two}
daemons=

at_end() {
	kill -9 $daemons 2>/dev/null
	for host in $hosts; do ip netns del "$tag-$host" 2>/dev/null; done
	ip link del "$tag-br" 2>/dev/null
}

ip link add "$tag-br" type bridge && ip link set "$tag-br" up
address=1
for host in $hosts; do
	ip netns add "$tag-$host"
	ip link add "${tag}v$address" type veth peer name eth0 netns "$tag-$host"
	ip link set "${tag}v$address" master "$tag-br" up
	ip -n "$tag-$host" addr add "$subnet.$address/24" dev eth0
	ip -n "$tag-$host" link set eth0 up
	ip -n "$tag-$host" link set lo up
	address=$((address + 1))
done
