/* The loaded files of one process: addresses to frames. What the guest announced counts; other
 * addresses are looked for in /proc/PID/maps, now and then; what is then in no file is generated
 * code if the process has a map of that (perf_map.h). Single-threaded: only the agent loop calls it.
 */
#ifndef MODULE_TABLE_H
#define MODULE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/batch/message.h"
#include "proto/definition.h"

#define MODULE_TABLE_FILE_READS_MAX 64u /* of /proc/PID/maps, for the life of a process */

struct module_table;
struct stack_dictionary;
struct string_dictionary;
struct symbolizer_module;

/* Borrowed until module_table_destroy(). */
struct module_table_outputs {
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	/* A module was seen, perhaps not for the first time: where its file can be found. May be NULL. */
	int (*module)(void *context, const struct symbolizer_module *module);
	void *context;
};

/* module_table_destroy() accepts NULL. pid 0: not visible from here. user: whose the process is, by
 * the kernel's word; names of its files are for that user's processes alone. A process of root that
 * becomes a user's is the user's from then on. reads_maps: addresses that nobody announced are looked
 * for in /proc. NULL: out of memory. */
struct module_table *module_table_create(struct module_table_outputs outputs, pid_t pid, uid_t user,
					 bool reads_maps);
void module_table_destroy(struct module_table *table);

/* A file without a build id gets one made of its contents, if it can be told that what is at its
 * path is what is mapped. If not, it has no names: those of another file would be wrong. 0;
 * -EINVAL: no addresses that a program can have, no path, or a build id that is none; -ENOSPC: too many modules;
 * -ENOMEM. */
int module_table_add(struct module_table *table, const struct definition_module *definition,
		     const char *path, size_t path_size);

/* The frame of a code address. Generated code belongs to a module of this process alone, /tmp/perf-PID.map, with the
 * address itself as the offset; without a module it is MESSAGE_FRAME_NO_MODULE with the plain address. 0 or -ENOMEM. */
int module_table_find(struct module_table *table, uint64_t address, struct message_frame *frame);

/* For a process without a guest, of which it is known from elsewhere when its mappings change: reads /proc/PID/maps now
 * and forgets what is not mapped any more. Until the next call it is hardly read again. true: it could be read. */
bool module_table_reread(struct module_table *table);

/* Looks at the file that is mapped at an address, as the maps were last read, or at the kernel's own code there, which
 * is in memory for good. As foreign_file_visit(); -ENOENT also: no file is mapped there. */
struct foreign_file_visit;
int module_table_visit(struct module_table *table, uint64_t address,
		       struct foreign_file_visit **visit);

/* /proc/PID/maps as it was last read. Borrowed until the next call; size 0: it was not. */
void module_table_text(const struct module_table *table, const char **text, size_t *size);

#endif
