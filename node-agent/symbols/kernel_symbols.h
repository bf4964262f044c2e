/* Names of the kernel's functions, as /proc/kallsyms tells them to those who may know. Read once; then pure. */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;

/* Of a text as in /proc/kallsyms; without addresses in it there are no names. 0 or -ENOMEM; on error *symbols is
 * NULL. */
int kernel_symbols_parse(const char *text, size_t size, struct kernel_symbols **symbols);

/* Of /proc/kallsyms itself. 0 or -errno; on error *symbols is NULL. */
int kernel_symbols_read(struct kernel_symbols **symbols);
void kernel_symbols_destroy(struct kernel_symbols *symbols); /* accepts NULL */

uint32_t kernel_symbols_count(const struct kernel_symbols *symbols);

/* The function that holds the address; NULL: not known. Borrowed until kernel_symbols_destroy(). */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address);

#endif
