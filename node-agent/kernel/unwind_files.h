/* The unwind rules of files that watched processes have mapped, by module, for all processes. A file is mapped
 * when it is first asked for, and of each of its functions the rules are read when a stack first goes through it:
 * a program runs few of those that its libraries have. On other machines than x86_64 there are none.
 * Single-threaded: only the agent loop calls it. */
#ifndef UNWIND_FILES_H
#define UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define UNWIND_FILES_MAX                                                                           \
	2048u /* that are mapped at a time; then all are forgotten, and found again */
#define UNWIND_FILES_BYTES_MAX                                                                     \
	(64ull << 20) /* of lists of functions, which files without a search table need */

struct elf_file;
struct unwind_file;
struct unwind_files;

/* NULL: out of memory. unwind_files_destroy() accepts NULL. */
struct unwind_files *unwind_files_create(void);
void unwind_files_destroy(struct unwind_files *files);

/* Whether the module was looked at, whatever came of it. */
bool unwind_files_has(const struct unwind_files *files, uint32_t module_id);

/* Maps a file. NULL: it has no rules, or there is no memory. An image in memory (elf_file_open_memory()) is borrowed
 * until unwind_file_unmap(), which accepts NULL. Any thread. */
struct unwind_file *unwind_file_map(struct elf_file *file);
void unwind_file_unmap(struct unwind_file *file);

/* Takes a module's file, on error, too. NULL: there will be no rules. device: of a file system that may not answer
 * (foreign_file.h): what the file says is then read by foreign calls for that user; 0: it is read as memory is.
 * 0 or -ENOMEM. */
int unwind_files_add(struct unwind_files *files, uint32_t module_id, struct unwind_file *file,
		     uint64_t device, uid_t user);

/* The rule (unwind/unwind_row.h) of a virtual address in the module's file. false: there is none, or its file system
 * does not answer; the file is then to be added anew. */
bool unwind_files_find(struct unwind_files *files, uint32_t module_id, uint64_t vaddr,
		       uint32_t *rule);

/* Functions whose rules were read so far: a measure of what has been done. */
uint64_t unwind_files_reads(const struct unwind_files *files);

#endif
