/* Names of the kernel's functions, from /proc/kallsyms. The kernel hides the addresses from processes without the right
 * to them. The table is read once; after that any thread may look up names. */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;

/* Parses a text in the form of /proc/kallsyms. If all addresses in it are hidden, the table is empty. Returns 0 or
 * -ENOMEM; on error *symbols is NULL. */
int kernel_symbols_parse(const char *text, size_t size, struct kernel_symbols **symbols);

/* Reads and parses /proc/kallsyms. Returns 0 or -errno; on error *symbols is NULL. */
int kernel_symbols_read(struct kernel_symbols **symbols);
void kernel_symbols_destroy(struct kernel_symbols *symbols); /* accepts NULL */

uint32_t kernel_symbols_count(const struct kernel_symbols *symbols);

/* Returns the function that holds the address, borrowed until kernel_symbols_destroy(). NULL: not known. */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address);

#endif
