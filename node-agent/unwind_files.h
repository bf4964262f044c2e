/* The unwind rules of files that watched processes have mapped, by module, compiled once from .eh_frame for all processes. On other
 * machines than x86_64 there are none. Single-threaded: only the agent loop calls it. */
#ifndef UNWIND_FILES_H
#define UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>

#define UNWIND_FILES_BYTES_MAX (256ull << 20) /* of all rules together */

struct elf_file;
struct unwind_files;

/* NULL: out of memory. unwind_files_destroy() accepts NULL. */
struct unwind_files *unwind_files_create(void);
void unwind_files_destroy(struct unwind_files *files);

/* Whether the module was looked at, whatever came of it. */
bool unwind_files_has(const struct unwind_files *files, uint32_t module_id);

/* Compiles a module's rules. file NULL: it can't be had, and there will be none. 0 or -ENOMEM. */
int unwind_files_add(struct unwind_files *files, uint32_t module_id, struct elf_file *file);

/* The rule (inject/unwind_row.h) of a virtual address in the module's file. false: there is none. */
bool unwind_files_find(const struct unwind_files *files, uint32_t module_id, uint64_t vaddr,
		       uint32_t *rule);

#endif
