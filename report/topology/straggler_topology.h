/* clang-format off: it joins the lines of a table */
/* The switches of a network and their hosts, by a file in the syntax of Slurm's topology.conf, or by what
 * `scontrol show topology` prints:
 *
 *   SwitchName=s0 Nodes=n[1-4,07],login1     the leaf switches, which are used
 *   SwitchName=top Switches=s[0-3]           switches above them, which are not
 *   BlockName=b1 Nodes=n[1-8]                blocks take the place of leaf switches
 *
 * '#' begins a comment, and '\' at the end of a line goes on in the next one. Lines may end as Windows writes them.
 * Of a switch above others its Nodes are not used. LinkSpeed, BlockSizes, Level, BlockIndex and BlockSize say nothing
 * here. A reader of it is used by one thread. */
/* clang-format on */
#ifndef STRAGGLER_TOPOLOGY_H
#define STRAGGLER_TOPOLOGY_H

#include <stddef.h>

#define STRAGGLER_TOPOLOGY_BYTES    (4u << 20) /* of a file, at most */
#define STRAGGLER_TOPOLOGY_LINE     (64u << 10) /* of a line, with those that it goes on in, at most */
#define STRAGGLER_TOPOLOGY_BRACKETS 4u          /* of a name of hosts, at most */
#define STRAGGLER_TOPOLOGY_WAIT_MS  10000       /* for the next bytes of a pipe */

struct straggler_topology;

/* Reads a file or a pipe. 0, or -errno with one line in *error that names the file and the line: free(); NULL: no
 * memory. On error *topology is NULL. */
int straggler_topology_read(const char *path, struct straggler_topology **topology, char **error);
void straggler_topology_destroy(struct straggler_topology *topology); /* accepts NULL */

/* Returns the switch of a host, "switch s0", by its whole name, or else by that before the first point. Borrowed until
 * destroy. NULL: the file does not have it. */
const char *straggler_topology_find(const struct straggler_topology *topology, const char *host,
				    size_t size);

/* Checks that a host is in one switch alone. 0, or -EINVAL with a line in *error as of straggler_topology_read(), which
 * names the host, and both switches with their lines. */
int straggler_topology_check(const struct straggler_topology *topology, const char *path,
			     const char *host, size_t size, char **error);

#endif
