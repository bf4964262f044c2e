/* Tells which class of work a kernel belongs to, by its name: all tables and pages ask here. kernel_class.c has the
 * built-in rules, and class_list.h adds those of a user. Any thread, once no more rules are added. */
#ifndef KERNEL_CLASS_H
#define KERNEL_CLASS_H

#include <stdint.h>

#define KERNEL_CLASS_WORD_MAX  20u  /* bytes of the word of a new class */
#define KERNEL_CLASS_OWN_MAX   3u   /* new classes: the page has as many colours for them */
#define KERNEL_CLASS_ADDED_MAX 256u /* rules */

enum kernel_class {
	KERNEL_CLASS_NCCL,
	KERNEL_CLASS_ATTENTION,
	KERNEL_CLASS_GEMM,      /* convolutions, too */
	KERNEL_CLASS_REDUCTION, /* norms, too */
	KERNEL_CLASS_ELEMENTWISE,
	KERNEL_CLASS_OTHER, /* no pattern fits */
	KERNEL_CLASS_OWN,   /* the first of those that added rules name */
	KERNEL_CLASSES = KERNEL_CLASS_OWN + KERNEL_CLASS_OWN_MAX,
};

/* The first rule whose pattern fits decides. */
enum kernel_class kernel_class_of(const char *name);

/* Returns "gemm", "kernel" for other ones; of new classes the word that the rule has. NULL: no rule has named this new
 * class. It is borrowed until kernel_class_forget(). */
const char *kernel_class_word(enum kernel_class kernel_class);

/* Adds a rule behind those added before, and before the built-in ones. The pattern is an extended regular expression of
 * POSIX; capital and small letters are the same. An unknown word makes a new class. 0; -EINVAL: the word or the pattern
 * cannot be used; -ENOSPC: too many new classes or rules; -ENOMEM. On error *error is one line, which the caller owns
 * (free()), and nothing is added. */
int kernel_class_add(const char *word, const char *pattern, char **error);

/* Removes all rules that were added, and the new classes. */
void kernel_class_forget(void);

#endif
