/* Makes the place where a dormant guest looks for an agent (proto/attach.h). The attaching program makes it in the
 * process's own /tmp, which may differ from ours. Single-threaded. */
#ifndef ATTACH_POINT_H
#define ATTACH_POINT_H

#include <stdbool.h>

struct target_process;

struct attach_point { /* zeroed but for tmp_fd, which is -1: nothing to remove */
	int tmp_fd;   /* owns: that /tmp, which stays open when the process is over */
	bool made;
	char name[48];         /* the folder's name */
	char socket_path[108]; /* the path on which the agent has to listen */
};

/* Makes the folder, for the process's user and root alone, and writes the options into it: lines NAME=VALUE. It
 * replaces the folder of a program that is gone. 0; -EBUSY: another program is attached; -EEXIST: the folder is not
 * ours; -EMSGSIZE: too many options; other -errno. Call remove in any case. */
int attach_point_make(const struct target_process *target, const char *options,
		      struct attach_point *point);
void attach_point_remove(struct attach_point *point);

/* Returns in path the socket's path as seen from outside the process, for a program that only wants to connect. 0;
 * -ENAMETOOLONG. */
int attach_point_path(const struct target_process *target, char path[static 108]);

#endif
