/* Where a dormant guest and whoever attaches to it meet: a folder in the guest's /tmp, named after its pid as it sees
 * itself and its pid namespace (containers may share a /tmp), which only the guest's user or root can have made; in it
 * the agent's socket (handshake.h), and before that a file of options: lines NAME=VALUE, which the guest takes in place
 * of its environment. */
#ifndef ATTACH_H
#define ATTACH_H

#define ATTACH_PREFIX      "/tmp/flamegrid-attach-" /* then PID.INODE, in decimal */
#define ATTACH_SOCKET      "agent"
#define ATTACH_OPTIONS     "options"
#define ATTACH_OPTIONS_MAX 4095u       /* bytes of the file */
#define ATTACH_LOOK_NS     1000000000u /* so often the guest looks */

#endif
