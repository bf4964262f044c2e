/* Tells file systems that several hosts can have open at once. SQLite's shared memory does not work there, and some of
 * their locks hold for one host alone. Any thread. */
#ifndef SHARED_DISK_H
#define SHARED_DISK_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define SHARED_DISK_TYPE_SIZE 64u /* bytes of a type's name with its end, as mountinfo has it */

/* Returns whether a folder is on such a file system, as far as statfs() tells. */
bool shared_disk_has(const char *folder);

/* Returns whether file systems of a kind are such: magic of statfs(), and of FUSE also the type's name. One of FUSE is,
 * unless its type is known to be of one host; "": not known. */
bool shared_disk_is_kind(unsigned long magic, const char *type);

/* Finds the type of the file system of a device in a text like /proc/self/mountinfo. type is "" if it is not there. */
void shared_disk_type(FILE *mountinfo, dev_t device, char type[static SHARED_DISK_TYPE_SIZE]);

#endif
