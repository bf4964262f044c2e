/* The names of NVTX ranges and their domains, interned: bounded, whatever the program calls its
 * ranges. They are here before there is a ring, because ranges may be open before CUDA starts. Any
 * thread; lock-free, no malloc. */
#ifndef NVTX_NAMES_H
#define NVTX_NAMES_H

#include <stdint.h>

#include "nvtx_text.h"

#include "proto/options/nvtx_digits.h"

#define NVTX_NAMES_MAX    4096u
#define NVTX_DOMAINS_MAX  255u
#define NVTX_VARIANTS_MAX 64u /* NVTX_DIGITS_AUTO: names kept that differ in their digits alone */

#define NVTX_NAME_LOST      0u /* no room for the name */
#define NVTX_DOMAIN_DEFAULT 0u

struct nvtx_names;
struct record_ring;

/* mmap, not malloc. NULL: out of memory. The caller owns; destroy accepts NULL. */
struct nvtx_names *nvtx_names_create(enum nvtx_digits digits);
void nvtx_names_destroy(struct nvtx_names *names);

/* The id, from 1, of a range's name, for the life of the table; NVTX_NAME_LOST. Equality is that of a
 * 64-bit hash. May change the digits in *text. domain: an id of this table. */
uint32_t nvtx_names_intern(struct nvtx_names *names, uint32_t domain, struct nvtx_text *text);

/* The name as it was interned; NULL: NVTX_NAME_LOST, or no such id. Borrowed until destroy. */
const struct nvtx_text *nvtx_names_text(const struct nvtx_names *names, uint32_t name);

/* The id, from 1, of a domain; where there is no room for another, of one that is called "...". */
uint32_t nvtx_names_domain(struct nvtx_names *names, const struct nvtx_text *text);
const struct nvtx_text *nvtx_names_domain_text(const struct nvtx_names *names,
					       uint32_t domain); /* not the default one */

/* What a program is given as its handle, and back: NVTX_NAME_LOST and NVTX_DOMAIN_DEFAULT for what is
 * no handle of this table. Never NULL. */
const void *nvtx_names_handle(const struct nvtx_names *names, uint32_t name);
uint32_t nvtx_names_of_handle(const struct nvtx_names *names, const void *handle);
const void *nvtx_names_domain_handle(const struct nvtx_names *names, uint32_t domain);
uint32_t nvtx_names_of_domain_handle(const struct nvtx_names *names, const void *handle);

/* The stack word (stack_word.h) of a name, which is copied into the ring the first time; the word of
 * no name for NVTX_NAME_LOST, and where the ring has no room. */
uint64_t nvtx_names_word(struct nvtx_names *names, struct record_ring *ring, uint32_t name);

#endif
