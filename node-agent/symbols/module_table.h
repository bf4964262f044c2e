/* The loaded files of one process, to turn addresses into frames. Files that the guest announced come first. Other
 * addresses are looked for in /proc/PID/maps, which is read now and then. An address in no file is generated code if
 * the process has a perf map (perf_map.h). Single-threaded: only the agent loop calls it. */
#ifndef MODULE_TABLE_H
#define MODULE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/batch/message.h"
#include "proto/definition.h"

#define MODULE_TABLE_FILE_READS_MAX 64u /* readings of /proc/PID/maps in a process's life */

struct module_table;
struct stack_dictionary;
struct string_dictionary;
struct symbolizer_module;

/* Borrowed until module_table_destroy(). */
struct module_table_outputs {
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	/* Tells where the file of a module can be found that was seen, perhaps again. May be NULL. */
	int (*module)(void *context, const struct symbolizer_module *module);
	void *context;
};

/* pid is 0 if the process is not visible from here. user is the process's user, as the kernel says; names in the
 * process's files are for that user's processes alone. A process of root that changes to another user belongs to that
 * user from then on. With reads_maps, addresses that were not announced are looked for in /proc. Returns NULL if out of
 * memory. module_table_destroy() accepts NULL. */
struct module_table *module_table_create(struct module_table_outputs outputs, pid_t pid, uid_t user,
					 bool reads_maps);
void module_table_destroy(struct module_table *table);

/* Adds a file that the guest announced. A file without a build id gets an id made of its contents if the file at its
 * path is certainly the mapped file. Otherwise it has no names, since another file's names would be wrong. The same
 * holds for a file with the path and build id of an earlier one, but another identity. Returns 0;
 * -EINVAL: the addresses, the path or the build id are invalid; -ENOSPC: too many modules; -ENOMEM. */
int module_table_add(struct module_table *table, const struct definition_module *definition,
		     const char *path, size_t path_size);

/* Returns whether module_table_add() has met this file before, so that it takes no more memory. */
bool module_table_knows(const struct module_table *table,
			const struct definition_module *definition);

/* Forgets the file at these addresses, which was unloaded: from now on they are in no file. Stacks up to nr_stacks were
 * captured before, and may still come: module_table_find_of() finds its frames for them, as long as no more than
 * FILE_MEMORY_UNLOADED others were unloaded since. 0; -EINVAL: start >= end; -ENOSPC; -ENOMEM. */
int module_table_remove(struct module_table *table, uint64_t start, uint64_t end,
			uint32_t nr_stacks);

/* Adds a Python file of generated/generated_path.h that the process runs, which is a module, too. Returns as
 * module_table_add(); *module_id is MESSAGE_FRAME_NO_MODULE on error. */
int module_table_add_generated(struct module_table *table, const char *path, size_t path_size,
			       uint32_t *module_id);

/* Finds the frame of a code address. Generated code belongs to a module of this process alone, /tmp/perf-PID.map, with
 * the address as the offset. An address in no module gets MESSAGE_FRAME_NO_MODULE, with the address as the offset.
 * Returns 0 or -ENOMEM. */
int module_table_find(struct module_table *table, uint64_t address, struct message_frame *frame);

/* The same for an address in the stack with this number (module_table_remove()), from 1. */
int module_table_find_of(struct module_table *table, uint32_t stack, uint64_t address,
			 struct message_frame *frame);

/* Reads /proc/PID/maps now and forgets files that are not mapped any more. It is for a process without a guest whose
 * changes of mappings the caller learns from elsewhere: until the next call the maps are hardly read again. Returns
 * whether they could be read. */
bool module_table_reread(struct module_table *table);

/* Looks at the file that is mapped at an address, as the maps were last read, or at the kernel's code there (the vDSO).
 * Returns as foreign_file_visit(), and -ENOENT also if no file is mapped there. */
struct foreign_file_visit;
int module_table_visit(struct module_table *table, uint64_t address,
		       struct foreign_file_visit **visit);

/* Gives /proc/PID/maps as it was last read, borrowed until the next call. *size is 0 if it was never read. */
void module_table_text(const struct module_table *table, const char **text, size_t *size);

#endif
