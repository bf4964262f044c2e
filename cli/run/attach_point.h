/* The place where a dormant guest looks for an agent (proto/attach.h): made by who attaches, in the process's own /tmp,
 * which may be another than ours. Single-threaded. */
#ifndef ATTACH_POINT_H
#define ATTACH_POINT_H

#include <stdbool.h>

struct target_process;

struct attach_point { /* zeroed but for tmp_fd, which is -1: nothing to remove */
	int tmp_fd;   /* owns: that /tmp, also when the process is over */
	bool made;
	char name[48];         /* of the folder */
	char socket_path[108]; /* where the agent is to listen */
};

/* Makes the folder, for the process's user and root alone, with the options in it: lines NAME=VALUE. What somebody left
 * there who is gone is replaced. 0; -EBUSY: somebody is attached; -EEXIST: the folder is not ours; -EMSGSIZE: too many
 * options; other -errno. remove in any case. */
int attach_point_make(const struct target_process *target, const char *options,
		      struct attach_point *point);
void attach_point_remove(struct attach_point *point);

/* The same path as others see it: for who only wants to connect. Returns 0; -ENAMETOOLONG. */
int attach_point_path(const struct target_process *target, char path[static 108]);

#endif
