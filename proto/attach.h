/* The folder in which a dormant guest and `flamegrid attach` meet. It lies in the guest's /tmp, and only the guest's
 * user or root can have made it. Its name has the guest's pid in its own namespace and that namespace's inode, because
 * containers may share a /tmp. The folder holds a file of options and the agent's socket (handshake.h), in this order.
 * The guest takes the options, lines of NAME=VALUE, in place of its environment. */
#ifndef ATTACH_H
#define ATTACH_H

#define ATTACH_PREFIX      "/tmp/flamegrid-attach-" /* then PID.INODE, in decimal */
#define ATTACH_SOCKET      "agent"
#define ATTACH_OPTIONS     "options"
#define ATTACH_OPTIONS_MAX 4095u       /* bytes of the file */
#define ATTACH_LOOK_NS     1000000000u /* the guest looks for the folder once in this time */

#endif
