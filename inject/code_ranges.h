/* Where the process's loaded code lies: addresses that a genuine return address can have.
 * Append-only, so any thread may ask while one adds; no lock, no allocation. */
#ifndef CODE_RANGES_H
#define CODE_RANGES_H

#include <stdatomic.h>
#include <stdint.h>

#define CODE_RANGES_MAX 8192u

struct code_ranges {    /* zeroed: empty */
	atomic_uint nr; /* above CODE_RANGES_MAX: not all are known */
	struct {
		_Atomic uint64_t start, end; /* end exclusive */
	} ranges[CODE_RANGES_MAX];
};

/* One thread at a time. Unloaded code stays in. */
void code_ranges_add(struct code_ranges *code, uint64_t start, uint64_t end);

/* The depth of frames[0..depth), leaf first, without the outermost frames that lie in no known
 * code: a chain of frame pointers that leads through code without them ends in whatever was on the
 * stack, different each time. Unknown code further in (a JIT's) stays. All unknown, nothing known,
 * or not all known: depth. */
uint32_t code_ranges_trim(const struct code_ranges *code, const uint64_t *frames, uint32_t depth);

#endif
