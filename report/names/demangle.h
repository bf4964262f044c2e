/* C++ symbols as people write them. The C++ runtime does the work; there is no C++ here. Any
 * thread. */
#ifndef DEMANGLE_H
#define DEMANGLE_H

enum demangle_mode {
	DEMANGLE_FULL = 0,
	DEMANGLE_SIMPLE = 1, /* without return types, parameters and template arguments */
	DEMANGLE_NONE = 2,
};

/* What is not a mangled C++ name comes back as it is. Owns: free(). NULL: out of memory. */
char *demangle_name(const char *name, enum demangle_mode mode);

#endif
