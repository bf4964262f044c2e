/* Tells NCCL's kernels by their string ids, and looks at each name once. Used by one thread. */
#ifndef NCCL_NAMES_H
#define NCCL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct catalog;

struct nccl_names {
	const struct catalog *catalog; /* borrowed */
	uint8_t *known;                /* owns; by string */
	uint32_t nr_strings;
};

/* catalog is borrowed until fini. 0 or -ENOMEM. Call nccl_names_fini() in any case. */
int nccl_names_init(struct nccl_names *names, const struct catalog *catalog);
void nccl_names_fini(struct nccl_names *names);

/* A string that the catalog does not have is none. */
bool nccl_names_have(struct nccl_names *names, uint32_t name_id);

#endif
