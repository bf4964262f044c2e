/* Turns C++ symbols into names as people write them. The C++ runtime does the work, so that there is no C++ here.
 * Any thread. */
#ifndef DEMANGLE_H
#define DEMANGLE_H

enum demangle_mode {
	DEMANGLE_FULL = 0,
	/* without return types, parameters and template arguments; a kernel of CUTLASS is called as its class */
	DEMANGLE_SIMPLE = 1,
	DEMANGLE_NONE = 2,
};

/* Returns the name, which the caller owns: free(). A name that is not a mangled C++ name is copied as it is. Newer
 * compilers make names that the C++ runtime cannot read. Of those it returns the leading names and "...", or the name
 * as it is if there are none. NULL: out of memory. */
char *demangle_name(const char *name, enum demangle_mode mode);

/* Returns a demangled name as DEMANGLE_SIMPLE has it; the caller owns it: free(). A name without brackets is copied as
 * it is, and so is a mangled one. NULL: out of memory. */
char *demangle_simplify(const char *name);

#endif
