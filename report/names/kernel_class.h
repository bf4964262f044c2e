/* Tells which class of work a kernel belongs to, by its name. kernel_class.c has the list, also for the page of HTML.
 * Any thread. */
#ifndef KERNEL_CLASS_H
#define KERNEL_CLASS_H

enum kernel_class {
	KERNEL_CLASS_NCCL,
	KERNEL_CLASS_ATTENTION,
	KERNEL_CLASS_GEMM,      /* convolutions, too */
	KERNEL_CLASS_REDUCTION, /* norms, too */
	KERNEL_CLASS_ELEMENTWISE,
	KERNEL_CLASS_OTHER, /* no pattern fits */
	KERNEL_CLASSES,
};

enum kernel_class kernel_class_of(const char *name);

/* Returns "gemm", "kernel" for other ones, in static storage. */
const char *kernel_class_word(enum kernel_class kernel_class);

/* Returns the regular expression of a class before KERNEL_CLASS_OTHER, in static storage. Capital and small letters
 * are the same. It is an extended one of POSIX, and means the same in JavaScript. */
const char *kernel_class_pattern(enum kernel_class kernel_class);

#endif
