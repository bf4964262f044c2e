/* Interns the names of NVTX ranges and of their domains. The table is bounded, however many names the program uses. It
 * exists before the ring does, because ranges may be open before CUDA starts. Any thread may call; lock-free, no
 * malloc. */
#ifndef NVTX_NAMES_H
#define NVTX_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "nvtx_text.h"

#include "proto/options/nvtx_digits.h"

#define NVTX_NAMES_MAX   16384u
#define NVTX_DOMAINS_MAX 255u
/* NVTX_DIGITS_AUTO: names that differ only in their digits, at most */
#define NVTX_VARIANTS_MAX 64u

#define NVTX_NAMES_WHOLE (2 * NVTX_TEXT_MAX + 2) /* bytes */

#define NVTX_NAME_LOST      0u /* there is no room for the name */
#define NVTX_DOMAIN_DEFAULT 0u

struct nvtx_names;
struct record_ring;

/* Creates an empty table with mmap, not malloc. NULL: out of memory. The caller owns it; destroy accepts NULL. */
struct nvtx_names *nvtx_names_create(enum nvtx_digits digits);
void nvtx_names_destroy(struct nvtx_names *names);

/* Returns the id, from 1, of a range's name, for the life of the table; NVTX_NAME_LOST: no room. Two names count as
 * equal if their 64-bit hashes are equal. It may change the digits in *text. domain: an id of this table. */
uint32_t nvtx_names_intern(struct nvtx_names *names, uint32_t domain, struct nvtx_text *text);

/* The same for a title of XLA's (xla_text.h). Its digits stay, and do not count as variants. */
uint32_t nvtx_names_intern_title(struct nvtx_names *names, uint32_t domain,
				 const struct nvtx_text *text);

/* Notes the places in the source of a title, once: the id of a text of its own. Its word then names both, with a blank
 * in between. It has no effect on a word that exists already. */
bool nvtx_names_has_places(const struct nvtx_names *names, uint32_t title);
void nvtx_names_set_places(struct nvtx_names *names, uint32_t title, uint32_t places);

/* Returns the name as it was interned; NULL: NVTX_NAME_LOST, or no such id. Borrowed until destroy. */
const struct nvtx_text *nvtx_names_text(const struct nvtx_names *names, uint32_t name);

/* Writes "domain:name", or the name alone if its domain is the default one, with a NUL. NVTX_NAME_LOST: "". */
void nvtx_names_whole(const struct nvtx_names *names, uint32_t name,
		      char text[static NVTX_NAMES_WHOLE]);

/* Returns the n-th name of the table, from 1, in no order; NULL: there are fewer. Borrowed as above. */
const struct nvtx_text *nvtx_names_nth(const struct nvtx_names *names, uint32_t n);

/* Returns the id, from 1, of a domain. If there is no room for another domain, it is the id of a domain called
 * "...". */
uint32_t nvtx_names_domain(struct nvtx_names *names, const struct nvtx_text *text);
const struct nvtx_text *nvtx_names_domain_text(const struct nvtx_names *names,
					       uint32_t domain); /* not the default one */

/* Convert ids to the handles that a program gets, which are never NULL, and handles back to ids. A handle that is not
 * from this table gives NVTX_NAME_LOST or NVTX_DOMAIN_DEFAULT. */
const void *nvtx_names_handle(const struct nvtx_names *names, uint32_t name);
uint32_t nvtx_names_of_handle(const struct nvtx_names *names, const void *handle);
const void *nvtx_names_domain_handle(const struct nvtx_names *names, uint32_t domain);
uint32_t nvtx_names_of_domain_handle(const struct nvtx_names *names, const void *handle);

/* Returns the stack word (stack_word.h) of a name. The first call for a name copies it into the ring. For
 * NVTX_NAME_LOST, and if the ring has no room, it is the word of no name. */
uint64_t nvtx_names_word(struct nvtx_names *names, struct record_ring *ring, uint32_t name);

#endif
