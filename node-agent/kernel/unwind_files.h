/* Holds the unwind rules of files that watched processes have mapped, by module, for all processes. A file is mapped
 * when its rules are first wanted. A function's rules are read when a stack first goes through it, because a program
 * runs few of its libraries' functions. Only x86_64 has rules. Single-threaded: only the agent loop calls it. */
#ifndef UNWIND_FILES_H
#define UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* files that are mapped at a time; at this limit all are forgotten, and read again when needed */
#define UNWIND_FILES_MAX 2048u
/* bytes of lists of functions, which files without a search table need */
#define UNWIND_FILES_BYTES_MAX (64ull << 20)

struct elf_file;
struct unwind_file;
struct unwind_files;

/* Creates an empty set; NULL: out of memory. unwind_files_destroy() accepts NULL. */
struct unwind_files *unwind_files_create(void);
void unwind_files_destroy(struct unwind_files *files);

/* Returns whether the module was added, with rules or without. */
bool unwind_files_has(const struct unwind_files *files, uint32_t module_id);

/* Maps a file. NULL: it has no rules, or memory is out. An image in memory (elf_file_open_memory()) is borrowed until
 * unwind_file_unmap(), which accepts NULL. Any thread. */
struct unwind_file *unwind_file_map(struct elf_file *file);
void unwind_file_unmap(struct unwind_file *file);

/* Adds a module's file, and takes it, also on error. file NULL: the module has no rules. device: the number of a file
 * system that may not answer (foreign_file.h), whose file is then read by foreign calls for that user; 0: the file is
 * read like memory. 0 or -ENOMEM. */
int unwind_files_add(struct unwind_files *files, uint32_t module_id, struct unwind_file *file,
		     uint64_t device, uid_t user);

/* Finds the rule (unwind/unwind_row.h) of a virtual address in the module's file. false: the address has no rule, or
 * the file system does not answer; the file must then be added anew. */
bool unwind_files_find(struct unwind_files *files, uint32_t module_id, uint64_t vaddr,
		       uint32_t *rule);

/* Returns the number of functions whose rules were read so far, as a measure of the work done. */
uint64_t unwind_files_reads(const struct unwind_files *files);

#endif
