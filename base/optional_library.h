/* Loads a library that only some tasks need, when it is first needed. Any thread. */
#ifndef OPTIONAL_LIBRARY_H
#define OPTIONAL_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct optional_library_symbol {
	const char *name;
	size_t offset; /* of its pointer in the struct of functions */
};

struct optional_library {
	const char *file;    /* such as "libz.so.1" */
	const char *missing; /* the begin of an error: what is missing, and which package has it */
	const struct optional_library_symbol *symbols;
	size_t nr_symbols;
	void *functions; /* a struct of pointers, which are defined once the library is loaded */
	pthread_mutex_t lock;
	bool is_loaded;
};

/* 0: the library is loaded, and stays so. -ENOPKG: the library or one of its symbols is missing, and *error is one
 * line, which the caller owns (free()); a later call tries again. */
int optional_library_load(struct optional_library *library, char **error);

#endif
