/* Functions of many kinds, which call each other along a path: the native frames of guest_bench --cold. Other functions
 * and memory that push them out of the caches. Threads share the functions alone. */
#ifndef COLD_FRAMES_H
#define COLD_FRAMES_H

#include <stdint.h>

#define COLD_FRAMES     300u
#define COLD_WORKS      4000u
#define COLD_WORK_BYTES (1u << 20)

struct cold_path;
typedef void cold_frame(struct cold_path *path);
typedef uint64_t cold_work(uint64_t seed);

/* frames[at] is called next, from the second of its caller's two places if sites[at] is odd. */
struct cold_path {
	cold_frame *const *frames;
	const uint8_t *sites;
	void *user; /* for the last frame */
	uint64_t salt;
	uint32_t at;
};

/* Calls the frame at path->at. */
static inline void cold_path_next(struct cold_path *path)
{
	uint32_t at = path->at++;

	path->frames[at](path);
	path->at = at;
}

/* About one in eight keeps a frame pointer, one in 50 realigns its stack; sizes and saved registers differ. */
extern cold_frame *const cold_frames[COLD_FRAMES];

/* Small functions. Each returns another number. */
extern cold_work *const cold_works[COLD_WORKS];

#endif
