/* How numbers in the names of NVTX ranges ("step 12345") are recorded: option --nvtx-digits of `flamegrid run`, given
 * to the guest in its environment. Pure; any thread. */
#ifndef NVTX_DIGITS_H
#define NVTX_DIGITS_H

#define NVTX_DIGITS_ENV "FLAMEGRID_NVTX_DIGITS"

enum nvtx_digits {
	NVTX_DIGITS_AUTO, /* kept until too many names differ in their numbers alone (the default) */
	NVTX_DIGITS_KEEP, /* kept as long as there is room for names */
	NVTX_DIGITS_MASK, /* each number becomes "#" */
};

/* "auto", "keep" or "mask"; NULL or "": the default. 0; -EINVAL: none of them, and *digits is the default. */
int nvtx_digits_parse(const char *text, enum nvtx_digits *digits);

/* Static storage. */
const char *nvtx_digits_name(enum nvtx_digits digits);

#endif
